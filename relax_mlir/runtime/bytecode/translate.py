"""Translation of a function's bytecode to a Python function; faster than a dispatch loop.

A function without jumps becomes one statement per instruction. With jumps, a basic block is written
where its only predecessor ends, or after the condition whose ways all meet in it; the others become
the leaves of a tree of `if` in a loop. Names and texts of the executable never enter the source,
only numbers do.
"""

from collections.abc import Callable, Container
from typing import Any

from relax_mlir.runtime.bytecode.builtins import BUILTINS, CALL_TIR_DYN, KILLS, PREFIX
from relax_mlir.runtime.bytecode.instructions import (
    VM_STATE_REGISTER,
    Arg,
    ArgKind,
    Instruction,
    Opcode,
)
from relax_mlir.runtime.bytecode.jumps import Jumps, Writer
from relax_mlir.runtime.bytecode.shape_cache import ShapeMemory, shape_memory
from relax_mlir.runtime.bytecode.shape_locals import ShapeLocals
from relax_mlir.runtime.program import Program, VMFunction
from relax_mlir.runtime.values.convert import DTYPES


def _operand(arg: Arg) -> str:
    if arg.kind is ArgKind.REGISTER:
        if arg.value == VM_STATE_REGISTER:
            return "vm_state"
        return f"r{arg.value}" if arg.is_plain_register else "None"
    if arg.kind is ArgKind.IMMEDIATE:
        return str(arg.value)
    return f"c{arg.value}" if arg.kind is ArgKind.CONSTANT else f"p{arg.value}"


def _call(
    executable: Program, instr: Instruction, native: Container[str], plain: bool = False
) -> str:
    name = executable.func_names[instr.func_idx]
    dst = f"r{instr.dst.value}" if instr.dst.is_plain_register else ""
    args = [_operand(a) for a in instr.args]
    if name in native and not plain:
        # Constants are handed to native code as the FFI's own tensors, wrapped once.
        args = [
            f"t{a.value}" if a.kind is ArgKind.CONSTANT else text
            for a, text in zip(instr.args, args, strict=True)
        ]
    own = any(f.name == name for f in executable.global_funcs)
    if not own and name in KILLS:
        registers = [_operand(a) for a in instr.args if a.is_plain_register]
        killed = " = ".join([*registers, *([dst] if dst else []), "None"])
        return f"p{instr.func_idx}({', '.join(args)}); {killed}" if plain else killed
    if not own and not plain and name == PREFIX + "move" and len(args) == 1:
        return f"{dst or '_'} = {args[0]}"
    if not own and not plain and name == PREFIX + "check_tensor":
        return _check(executable, instr, args)
    trusted = own or name in BUILTINS
    callee = f"p{instr.func_idx}"
    if not own and name in CALL_TIR_DYN and len(args) >= 2:
        target, trusted = instr.args[0], False
        if target.kind is ArgKind.CONSTANT:
            target_name = executable.constants[target.value]
            if target_name in executable.func_names:
                callee, args = f"p{executable.func_names.index(target_name)}", args[1:]
        elif target.kind is ArgKind.FUNCTION:
            callee, args = args[0], args[1:]
        if callee != f"p{instr.func_idx}":
            args[-1] = f"*shape_of({args[-1]})"
    text = f"{callee}({', '.join(args)})"
    if not dst:
        return text
    return f"{dst} = {text}" if trusted else f"{dst} = to_value({text})"


def _check(executable: Program, instr: Instruction, args: list[str]) -> str:
    """Return a check of a tensor that is a call only where it fails, or is of a rarer kind."""
    call = f"p{instr.func_idx}({', '.join(args)})"
    dtype = _checked_dtype(executable, instr)
    if dtype is None:
        return call
    tensor, rank = args[0], instr.args[1]
    tests = [f"type({tensor}) is not ndarray", f"{tensor}.dtype is not d{dtype}"]
    dims: Any = (-1,) * rank.value
    if len(instr.args) > 4:
        given = instr.args[4]
        dims = executable.constants[given.value] if given.kind is ArgKind.CONSTANT else None
    if not isinstance(dims, tuple) or [type(d) for d in dims] != [int] * rank.value:
        return call
    if -1 not in dims:
        tests.append(f"{tensor}.shape != {args[4]}" if dims else f"{tensor}.ndim")
    else:
        tests.append(f"{tensor}.ndim != {rank.value}")
        tests += [f"{tensor}.shape[{i}] != {d}" for i, d in enumerate(dims) if d != -1]
    return f"({' or '.join(tests)}) and {call}"


def _checked_dtype(executable: Program, instr: Instruction) -> int | None:
    """Return the constant with the dtype that an instruction checks, and it checks a rank too."""
    name = executable.func_names[instr.func_idx] if instr.op is Opcode.CALL else ""
    if name != PREFIX + "check_tensor" or any(f.name == name for f in executable.global_funcs):
        return None
    if len(instr.args) < 4 or not instr.args[0].is_plain_register:
        return None
    rank, dtype = instr.args[1], instr.args[2]
    if rank.kind is not ArgKind.IMMEDIATE or rank.value < 0 or dtype.kind is not ArgKind.CONSTANT:
        return None
    known = executable.constants[dtype.value]
    return dtype.value if isinstance(known, str) and known in DTYPES else None


def _last_uses(code: list[Instruction]) -> dict[int, list[int]]:
    """Return, for straight code, the registers that no instruction after this one reads."""
    last: dict[int, int] = {}
    for i, instr in enumerate(code):
        for arg in (*instr.args, instr.dst, instr.reg):
            if arg.is_plain_register:
                last[arg.value] = i
    dead: dict[int, list[int]] = {}
    for register, i in last.items():
        dead.setdefault(i, []).append(register)
    return dead


def _own_tensors(code: list[Instruction], names: list[str]) -> dict[int, int]:
    """Return, for straight code, the tensors that are alone in a storage nothing else looks at.

    The result maps the index of an `alloc_tensor` to that of its `alloc_storage`.
    """
    made: dict[int, int] = {}
    used: dict[int, list[int]] = {}
    written: dict[int, int] = {}
    for i, instr in enumerate(code):
        name = names[instr.func_idx] if instr.op is Opcode.CALL else ""
        kill = name == PREFIX + "kill_object"
        for arg in (*instr.args, instr.reg):
            if arg.is_plain_register and not kill:
                used.setdefault(arg.value, []).append(i)
        if instr.dst.is_plain_register and not kill:
            written[instr.dst.value] = written.get(instr.dst.value, 0) + 1
            if name == PREFIX + "alloc_storage" and len(instr.args) == 2:
                made[instr.dst.value] = i
    pairs: dict[int, int] = {}
    for register, start in made.items():
        users = used.get(register, [])
        if written[register] != 1 or len(users) != 1:
            continue
        instr = code[users[0]]
        if instr.op is not Opcode.CALL or names[instr.func_idx] != PREFIX + "alloc_tensor":
            continue
        offset = instr.args[1] if len(instr.args) == 4 else None
        if instr.args[0].value == register and offset == Arg(ArgKind.IMMEDIATE, 0):
            pairs[users[0]] = start
    return pairs


def _own_result(executable: Program, code: list[Instruction]) -> str:
    """Return what makes the result of straight code, if that is tensors it allocated itself.

    That is the function that allocates the tensor, or makes a tuple of such; "" for other results.
    """
    makers: dict[Arg, list[int]] = {}
    for i, instr in enumerate(code):
        if instr.op is Opcode.CALL:
            makers.setdefault(instr.dst, []).append(i)
    names: list[str] = []
    # Registers, and the instructions that read them.
    pending = [next((instr.reg, i) for i, instr in enumerate(code) if instr.op is Opcode.RET)]
    while pending:
        register, reader = pending.pop()
        made = makers.get(register, [])
        if len(made) != 1 or made[0] >= reader:
            return ""
        names.append(executable.func_names[code[made[0]].func_idx])
        if names[-1] == PREFIX + "make_tuple":
            pending += [(arg, made[0]) for arg in code[made[0]].args]
        elif names[-1] != PREFIX + "alloc_tensor":
            return ""
    return names[0]


def _new_tensor(
    executable: Program, shapes: ShapeLocals, storage: Instruction, tensor: Instruction
) -> str:
    """Return what makes a tensor that is alone in its storage: numpy where it is a small one."""
    shape, dtype = tensor.args[2:]
    size, device = (_operand(arg) for arg in storage.args)
    call = f"new_tensor({size}, {_operand(shape)}, {_operand(dtype)}, {device})"
    if dtype.kind is not ArgKind.CONSTANT:
        return call
    name = executable.constants[dtype.value]
    if not isinstance(name, str) or not shapes.is_size_of(storage.args[0], shape, name):
        return call
    return f"empty({_operand(shape)}, d{dtype.value}) if 0 < {size} <= small else {call}"


def _write_straight(
    out: Writer,
    executable: Program,
    func: VMFunction,
    native: Container[str],
    plain: bool,
    place: str,
) -> ShapeMemory | None:
    code = executable.instructions(func)
    dead = _last_uses(code)
    own = {} if plain else _own_tensors(code, executable.func_names)
    shapes = ShapeLocals(executable, func, _operand, native)
    storages = set(own.values())
    memory = None
    if not plain:
        checks = [(i, _checked_dtype(executable, instr)) for i, instr in enumerate(code)]
        known = {i: dtype for i, dtype in checks if dtype is not None}
        memory = shape_memory(code, func.num_args, known, shapes.lines, shapes.slots, storages)
    end, freed = 0, ""
    if memory is not None:
        end = memory.end
        out.add(2, memory.read(place))
        out.add(2, f"if {memory.differs()}:")
    for i, instr in enumerate(code):
        if memory is not None and i == end:
            out.add(3, memory.keep(place))
            if freed:
                out.add(2, freed.removeprefix("; "))
        if i in storages:
            continue
        if i in own:
            text = _new_tensor(executable, shapes, code[own[i]], instr)
            out.add(2, f"{_operand(instr.dst)} = {text}", i)
            continue
        if instr.op is Opcode.RET:
            out.add(2, f"return r{instr.reg.value}", i)
            break
        # Memory is free for the next instruction as soon as the last reader is done.
        kill = "".join(f"; r{r} = None" for r in dead.get(i, ()))
        line = None if plain else shapes.lines.get(i)
        line = line or _call(executable, instr, native, plain)
        if i < end:
            freed += kill
            out.add(3, line, i)
        else:
            out.add(2, line + kill, i)
    return memory


def translate(
    executable: Program,
    func: VMFunction,
    namespace: dict[str, Any],
    native: Container[str] = (),
    plain: bool = False,
) -> tuple[Callable[..., Any], list[int]]:
    """Return a Python function and, for each line of its source, the instruction it came from.

    The namespace has `p<i>` (functions), `c<i>` (constants), `t<i>` (constants as functions named
    in `native` take them), `d<i>` (constants that name dtypes as those), `vm_state`, `ndarray`,
    `empty`, `small` (bytes up to which a tensor is numpy's own), `truth`, `shape_of`, `heap_of`,
    `new_tensor`, `to_value` and `fail`, which is called with an exception and the function's index.
    It gets `m<i>`, a list of what function i keeps of its last call.

    Args:
        executable: the program.
        func: one of its functions.
        namespace: the globals of the Python function.
        native: names of functions that are native code.
        plain: whether each call is to be a call of its own, for who watches them.
    """
    code = executable.instructions(func)
    out = Writer()
    params = ", ".join(f"r{i}" for i in range(func.num_args))
    out.add(0, f"def function({params}):")
    out.add(1, "pass")  # a line for `direct_call`
    straight = not any(instr.op in (Opcode.IF, Opcode.GOTO) for instr in code)
    locals_ = [f"r{i}" for i in range(func.num_args, func.register_file_size)]
    if not straight and locals_:
        out.add(1, " = ".join([*locals_, "None"]))
    out.add(1, "try:")
    index = executable.global_funcs.index(func)
    if straight:
        memory = _write_straight(out, executable, func, native, plain, f"m{index}")
        if memory is not None:
            namespace[f"m{index}"] = [memory.nothing()]
    else:
        Jumps(code, lambda instr: _call(executable, instr, native, plain)).write(out, 2)
    # Where the stack is full, another call would only fail again; `too_deep` sees to it later.
    out.add(1, "except RecursionError:")
    out.add(2, "raise")
    out.add(1, "except Exception as error:")
    out.add(2, f"fail(error, {index})")
    out.add(2, "raise")
    scope: dict[str, Any] = {}
    exec(compile("\n".join(out.lines), f"<vm function {index}>", "exec"), namespace, scope)
    scope["function"].takes_values = True
    own = _own_result(executable, code) if straight else ""
    scope["function"].returns_own_tensor = own != ""
    is_direct = own == PREFIX + "alloc_tensor" and not plain
    scope["function"].direct_lines = out.lines if is_direct else []
    return scope["function"], out.instruction
