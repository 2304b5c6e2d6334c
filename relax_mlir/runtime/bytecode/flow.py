"""Control flow graph of a function's bytecode, and the registers defined in each block."""

from collections.abc import Sequence

from relax_mlir.runtime.bytecode.instructions import Arg, Instruction, Opcode


def block_ends(code: Sequence[Instruction]) -> dict[int, int]:
    """Return the basic blocks of a function: where each begins, and after which it ends."""
    starts = {0}
    for i, instr in enumerate(code):
        if instr.op is not Opcode.CALL:
            starts.add(i + 1)
        if instr.op in (Opcode.IF, Opcode.GOTO):
            starts.add(i + instr.offset)
    ordered = sorted(start for start in starts if start < len(code))
    return dict(zip(ordered, [*ordered[1:], len(code)], strict=True))


def successors(code: Sequence[Instruction], end: int) -> tuple[int, ...]:
    """Return the blocks that may follow the one whose last instruction is `end - 1`."""
    last = code[end - 1]
    if last.op is Opcode.RET:
        return ()
    if last.op is Opcode.GOTO:
        return (end - 1 + last.offset,)
    if last.op is Opcode.IF and last.offset != 1:
        return (end, end - 1 + last.offset)
    return (end,)


def first_undefined(code: Sequence[Instruction], num_inputs: int) -> tuple[int, Arg] | None:
    """Return the first instruction that may read a register before anything wrote it, and which.

    Instructions that no way leads to may read what they like.

    Args:
        code: a function's instructions; its jumps have valid targets.
        num_inputs: how many registers, from 0, are defined at the beginning.
    """
    ends = block_ends(code)
    # Sets of registers are the bits of integers: small ones by number, as they come up.
    bits: dict[int, int] = {}

    def bit(arg: Arg) -> int:
        return 1 << bits.setdefault(arg.value, len(bits))

    inputs = 0
    for register in range(num_inputs):
        inputs |= 1 << bits.setdefault(register, len(bits))
    written = {}
    for start, end in ends.items():
        written[start] = 0
        for instr in code[start:end]:
            if instr.dst.is_plain_register:
                written[start] |= bit(instr.dst)
    entry = {0: inputs}
    todo = [0]
    while todo:
        start = todo.pop()
        leaving = entry[start] | written[start]
        for following in successors(code, ends[start]):
            before = entry.get(following)
            after = leaving if before is None else before & leaving
            if after != before:
                entry[following] = after
                todo.append(following)
    for start, end in ends.items():
        if start not in entry:
            continue
        defined = entry[start]
        for i in range(start, end):
            instr = code[i]
            for arg in (*instr.args, instr.reg):
                if arg.is_plain_register and not defined & bit(arg):
                    return i, arg
            if instr.dst.is_plain_register:
                defined |= bit(instr.dst)
    return None
