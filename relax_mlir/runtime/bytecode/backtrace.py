"""Backtraces of bytecode: one line per frame, innermost first."""

import contextlib
import re
from typing import Any

from relax_mlir.errors import VMError
from relax_mlir.runtime.bytecode.instructions import Opcode
from relax_mlir.runtime.program import Program

# Frames that a message shows: the innermost ones, and the outermost one after them.
_SHOWN = 16
_FRAME = "\n  in VM function '"
_LEFT = re.compile(r"\.\.\. (\d+) more frames? \.\.\.")


def source_line(sources: Any, name: str, position: int) -> str:
    """Return the `file:line` that an instruction comes from, or "" when the compiler noted none."""
    runs = sources.get(name, ()) if isinstance(sources, dict) else ()
    result = [run for run in runs if isinstance(run, list) and len(run) == 2 and run[0] <= position]
    return str(result[-1][1]) if result else ""


def frame_line(executable: Program, index: int, position: int) -> str:
    """Return the line of a frame: function, instruction, what it calls, source.

    Args:
        executable: the program.
        index: the function's index.
        position: the instruction's index in the function, -1 when unknown.
    """
    func = executable.global_funcs[index]
    where = f"in VM function '{func.name}'"
    if position < 0:
        return where
    instr = executable.get_instruction(func.start_instr + position)
    what = instr.op.name.lower()
    if instr.op is Opcode.CALL:
        what = f"call {executable.func_names[instr.func_idx]}"
    source = source_line(executable.metadata.get("sources"), func.name, position)
    return f"{where}, instruction {position} ({what})" + (f" at {source}" if source else "")


def shown(stack: list[str]) -> list[str]:
    """Return the frames that a message has room for."""
    if len(stack) <= _SHOWN:
        return stack
    left = len(stack) - _SHOWN - 1
    more = [f"... {left} more frame{'s' if left > 1 else ''} ..."] if left else []
    return [*stack[:_SHOWN], *more, stack[-1]]


def _split(text: str) -> tuple[str, list[str]]:
    """Return a message and its frames: an error that came through the FFI has them there alone."""
    message, mark, rest = text.partition(_FRAME)
    stack: list[str] = []
    for line in (mark + rest).split("\n  ")[1:]:
        left = _LEFT.fullmatch(line)
        stack += [line] if left is None else ["..."] * int(left[1])
    return message, stack


def annotate(error: Exception, where: str) -> Exception:
    """Add a frame to an exception: to the message of a RelaxError, to the notes of any other.

    All frames are in its attribute `vm_stack`.
    """
    state: dict[str, Any] = getattr(error, "__dict__", {})
    if isinstance(error, VMError) and "vm_message" not in state:
        state["vm_message"], frames = _split(str(error.args[0]) if error.args else "")
        state.setdefault("vm_stack", frames)
    stack = state.setdefault("vm_stack", [])
    stack.append(where)
    if isinstance(error, VMError):
        # The FFI would hand on the error as it came from there, without this frame.
        state.pop("__tvm_ffi_error__", None)
        message = state["vm_message"]
        error.args = ("\n  ".join([message, *shown(stack)]), *error.args[1:])
    elif not isinstance(error, RecursionError):
        # `add_note` is new in Python 3.11; before, the list is there for who looks for it.
        notes = state.setdefault("vm_notes", [*getattr(error, "__notes__", ())])
        with contextlib.suppress(AttributeError):
            vars(error)["__notes__"] = [*notes, *shown(stack)]
    return error


def too_deep(
    name: str,
    error: RecursionError,
    executable: Program,
    namespace: dict[str, Any],
    lines: dict[int, list[int]],
) -> VMError:
    """Return the error for calls that are nested too deeply, with the frames of the bytecode."""
    stack = []
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if entry.tb_frame.f_globals is namespace and code.co_filename.startswith("<vm function "):
            index = int(code.co_filename.rpartition(" ")[2].rstrip(">"))
            positions, line = lines.get(index, []), entry.tb_lineno - 1
            position = positions[line] if 0 <= line < len(positions) else -1
            stack.append(frame_line(executable, index, position))
        entry = entry.tb_next
    stack.reverse()
    raised = VMError(
        "\n  ".join(
            [
                f"{name}: functions of the executable call each other too deeply "
                "(see sys.setrecursionlimit)",
                *shown(stack),
            ]
        )
    )
    vars(raised)["vm_stack"] = stack
    return raised
