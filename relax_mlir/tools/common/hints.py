"""Suggestions for misspelled dialects and operations, from MLIR's diagnostics."""

import contextlib
import importlib
import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import did_you_mean
from relax_mlir.pass_infra.execution.diagnostics import captured

_AVAILABLE = "Available dialects: "
_UNKNOWN_DIALECT = re.compile(
    r"Dialect `(?P<custom>[\w$]+)' not found|[!#]\"(?P<quoted>[\w$]+)\"<.*unregistered dialect",
    re.DOTALL,
)
_UNKNOWN_OPERATION = re.compile(r"unregistered operation '(?P<name>[\w.$]+)' found in dialect")
_QUOTED_OPERATION = re.compile(r"\"([\w$]+)\.[\w.$]+\"")
_OUR_DIALECTS = (("relax", "Relax"), ("tir", "Tir"), ("vm", "Vm"))


def available_dialects(context: ir.Context) -> list[str]:
    """Return every dialect that a context can load or has loaded, sorted."""
    # The bindings cannot enumerate dialects, but MLIR lists them for whoever asks for a wrong one.
    with captured(context) as diagnostics, contextlib.suppress(ir.MLIRError):
        ir.Module.parse("no_such_dialect.op", context)
    for diagnostic in diagnostics:
        for note in diagnostic.notes:
            if note.message.startswith(_AVAILABLE):
                names = note.message.removeprefix(_AVAILABLE).split(" (* ")[0].split(";")[0]
                return sorted(name.removesuffix(" (*)").strip() for name in names.split(","))
    return []


def hint(message: str, before: str, context: ir.Context) -> str:
    """Return `; did you mean 'x'?` for a diagnostic about an unknown name, or nothing.

    Args:
        message: the diagnostic's message.
        before: the line of source up to the diagnostic's position.
        context: where the names are looked for.
    """
    unknown = _UNKNOWN_OPERATION.search(message)
    if unknown:
        return did_you_mean(unknown["name"], _operations(unknown["name"]))
    dialect = ""
    match = _UNKNOWN_DIALECT.search(message)
    if match:
        dialect = match["custom"] or match["quoted"]
    elif "operation being parsed with an unregistered dialect" in message:
        # The message does not name the operation; it stands just before the position.
        quoted = _QUOTED_OPERATION.findall(before)
        dialect = quoted[-1] if quoted else ""
    known = available_dialects(context) if dialect else []
    return "" if dialect in known else did_you_mean(dialect, known)


def _operations(name: str) -> list[str]:
    """Return the operations of the dialect that a name belongs to, where it has one."""
    for namespace, class_name in _OUR_DIALECTS:
        if name.startswith(f"{namespace}."):
            module = importlib.import_module(f"relax_mlir.dialects.{namespace}")
            return [each.OPERATION_NAME for each in getattr(module, class_name).operations]
    return []
