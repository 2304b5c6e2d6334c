"""An executable as text and as a Python program that builds it again."""

from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.instructions import VOID, Arg, ArgKind, Instruction, Opcode
from relax_mlir.runtime.program import Program

INLINE_ELEMENTS = 64


def _constant_summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(list(value.shape))
    return str(value) if isinstance(value, np.dtype) else repr(value)


def stats(executable: Program) -> str:
    """Return the summary of an executable, the design document's wording."""
    rows = [
        ("Constant shapes (# {})", [_constant_summary(c) for c in executable.constants]),
        ("Globals (#{})", [f.name for f in executable.global_funcs]),
        ("Packed functions (#{})", executable.func_names),
    ]
    if executable.native:
        rows.append(("Native objects (#{})", [o.name for o in executable.native]))
    lines = [f"  {label.format(len(items))}: [{', '.join(items)}]" for label, items in rows]
    lines += _memory(executable) + _bytecode(executable)
    return "\n".join(["Relax VM executable statistics:", *lines])


def _memory(executable: Program) -> list[str]:
    """Return a line for each native function that needs memory of its own."""
    return [
        f"  Memory of {name}: {planned} bytes; {unplanned} without planning, {needed} at one time"
        for name, (planned, unplanned, needed) in executable.metadata.get("memory", {}).items()
    ]


def _bytecode(executable: Program) -> list[str]:
    """Return a line for each instruction that is not native code for a reason."""
    lines = []
    functions = {func.name: func for func in executable.global_funcs}
    for name, reasons in executable.metadata.get("bytecode", {}).items():
        for position, reason in reasons:
            instr = executable.get_instruction(functions[name].start_instr + position)
            call = instr.op is Opcode.CALL
            what = executable.func_names[instr.func_idx] if call else instr.op.name.lower()
            lines.append(f"  Bytecode in {name}, instruction {position}: {what} ({reason})")
    return lines


def as_text(executable: Program) -> str:
    """Return all functions in the design document's layout."""
    blocks = []
    for func in executable.global_funcs:
        instructions = executable.instructions(func)
        calls = [i for i in instructions if i.op is Opcode.CALL]
        name_width = max([16, *(len(executable.func_names[i.func_idx]) for i in calls)])
        args_width = max([12, *(len(_args_text(i)) for i in calls if len(_args_text(i)) < 40)])
        lines = [f"@{func.name}:"]
        reasons = dict(executable.metadata.get("bytecode", {}).get(func.name, ()))
        for position, instr in enumerate(instructions):
            if instr.op is Opcode.CALL:
                name = executable.func_names[instr.func_idx]
                lines.append(
                    f"  call  {name:<{name_width}} in: {_args_text(instr):<{args_width}} "
                    f"dst: {instr.dst}"
                )
            elif instr.op is Opcode.RET:
                lines.append(f"  ret   ret {instr.reg}")
            elif instr.op is Opcode.GOTO:
                lines.append(f"  goto  {instr.offset}")
            else:
                lines.append(f"  if    {instr.reg}, {instr.offset}")
            if position in reasons:
                lines[-1] += f"  # {reasons[position]}"
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _args_text(instr: Instruction) -> str:
    return ", ".join(str(a) for a in instr.args)


def _literal(value: Any, index: int) -> str:
    """Return a Python expression for a constant."""
    if isinstance(value, np.ndarray):
        if value.size > INLINE_ELEMENTS or (value.size == 0 and value.ndim != 1):
            return f"constants[{index}]" if value.size else _empty(value)
        return f'np.array({value.tolist()!r}, dtype="{value.dtype.name}")'
    if isinstance(value, np.dtype):
        return f'np.dtype("{value.name}")'
    if isinstance(value, tuple):
        if any(isinstance(v, np.ndarray) and v.size > INLINE_ELEMENTS for v in value):
            return f"constants[{index}]"
        items = [_literal(v, index) for v in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return repr(value)


def _empty(value: np.ndarray) -> str:
    return f'np.empty({value.shape!r}, dtype="{value.dtype.name}")'


def _reads_all_inputs(executable: Program) -> bool:
    for func in executable.global_funcs:
        code = executable.instructions(func)
        read = {
            arg.value
            for instr in code
            for arg in (*instr.args, instr.reg)
            if arg.kind is ArgKind.REGISTER
        }
        if not read.issuperset(range(func.num_args)):
            return False
    return True


def as_python(executable: Program) -> str:
    """Return the program; see `Executable.as_python` for the names it may need."""
    names = executable.func_names

    def operand(arg: Arg) -> str:
        if arg == VOID:
            return "ib.void_arg()"
        if arg.kind is ArgKind.REGISTER:
            return f"ib.r({arg.value})" if arg.is_plain_register else "ib.vm_state()"
        if arg.kind is ArgKind.IMMEDIATE:
            return f"ib.imm({arg.value})"
        if arg.kind is ArgKind.FUNCTION:
            return f"ib.f({names[arg.value]!r})"
        return f"ib.c({arg.value})"

    literals = [_literal(c, i) for i, c in enumerate(executable.constants)]
    lines = ["import numpy as np", "from numpy import inf, nan", ""]
    lines += ["from relax_mlir import runtime as rx", ""]
    for i, text in enumerate(literals):
        if "constants[" in text:
            lines.append(f"# constants[{i}]: {_constant_summary(executable.constants[i])}")
    # Whoever made this program has been warned already.
    quiet = "" if _reads_all_inputs(executable) else "warn_unused_inputs=False"
    lines.append(f"ib = rx.ExecBuilder({quiet})")
    lines += [f"ib.emit_constant({text})" for text in literals]
    for func in executable.global_funcs:
        params = ""
        if func.param_names != tuple(f"arg{i}" for i in range(func.num_args)):
            params = f", param_names={list(func.param_names)!r}"
        lines.append(f"with ib.function({func.name!r}, num_inputs={func.num_args}{params}):")
        for instr in executable.instructions(func):
            if instr.op is Opcode.CALL:
                text = f"    ib.emit_call({names[instr.func_idx]!r}"
                if instr.args:
                    text += f", args=[{', '.join(operand(a) for a in instr.args)}]"
                if instr.dst != VOID:
                    text += f", dst={operand(instr.dst)}"
                lines.append(text + ")")
            elif instr.op is Opcode.RET:
                lines.append(f"    ib.emit_ret({operand(instr.reg)})")
            elif instr.op is Opcode.GOTO:
                lines.append(f"    ib.emit_goto({instr.offset})")
            else:
                lines.append(f"    ib.emit_if({operand(instr.reg)}, {instr.offset})")
    metadata = f"metadata={executable.metadata!r}" if executable.metadata else ""
    arguments = [*(["native=native"] if executable.native else []), *([metadata] * bool(metadata))]
    return "\n".join([*lines, f"ex = ib.get({', '.join(arguments)})", ""])
