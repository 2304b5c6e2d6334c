"""The verifier of bytecode: operands, registers, jumps."""

from relax_mlir.runtime.bytecode.instructions import ArgKind, Instruction, Opcode
from relax_mlir.runtime.program import Program, VMFunction


def check_executable(executable: Program) -> None:
    """Check that every index in the bytecode exists.

    Raises:
        ValueError: says the function, the instruction and what is wrong.
    """
    position = 0
    functions = executable.global_funcs
    for func in functions:
        if func.start_instr != position or func.end_instr <= func.start_instr:
            raise ValueError(f"function '{func.name}' has a wrong range of instructions")
        if not 0 <= func.num_args == len(func.param_names) <= func.register_file_size:
            raise ValueError(f"function '{func.name}' has a wrong number of registers")
        position = func.end_instr
        if position > len(executable.instr_offset):
            raise ValueError(f"function '{func.name}' ends after the last instruction")
        for i, instr in enumerate(executable.instructions(func)):
            reason = _problem(executable, func, i, instr)
            if reason:
                raise ValueError(f"function '{func.name}', instruction {i}: {reason}")
    if position != len(executable.instr_offset):
        raise ValueError("instructions belong to no function")
    if len({f.name for f in functions}) != len(functions):
        raise ValueError("two functions have one name")


def _problem(executable: Program, func: VMFunction, i: int, instr: Instruction) -> str | None:
    size = func.end_instr - func.start_instr
    if instr.op in (Opcode.IF, Opcode.GOTO) and (
        instr.offset == 0 or not 0 <= i + instr.offset < size
    ):
        return f"jump by {instr.offset} leaves the function"
    if i == size - 1 and instr.op not in (Opcode.RET, Opcode.GOTO):
        return "the function ends without 'ret'"
    uses = [*instr.args, instr.dst] if instr.op is Opcode.CALL else []
    if instr.op in (Opcode.RET, Opcode.IF):
        uses = [instr.reg]
    limits = {
        ArgKind.REGISTER: func.register_file_size,
        ArgKind.CONSTANT: len(executable.constants),
        ArgKind.FUNCTION: len(executable.func_names),
    }
    for arg in uses:
        named = arg.kind is ArgKind.REGISTER and not arg.is_plain_register
        if not named and arg.kind in limits and not 0 <= arg.value < limits[arg.kind]:
            return f"operand {arg} does not exist"
    if instr.op in (Opcode.RET, Opcode.IF) and not instr.reg.is_plain_register:
        return f"'{instr.op.name.lower()}' needs a register"
    if instr.op is Opcode.CALL and not 0 <= instr.func_idx < len(executable.func_names):
        return f"function {instr.func_idx} does not exist"
    return None
