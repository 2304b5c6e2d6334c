"""Reading MLIR modules, and copying operations from one MLIR context to another."""

import io
import re

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.context_memory import count_constant
from relax_mlir.errors import VerifyError

# A longer text is mostly the numbers of constants, which its context keeps.
_LONG_TEXT = 1 << 16
# An operation of our dialects that stands without quotes.
_CUSTOM = re.compile(rb"^[ \t]*(?:%[\w$.:, %-]+=[ \t]*)?((?:relax|tir|vm)\.\w+)(?=[ \t(]|$)", re.M)


def read_module(text: str | bytes, context: ir.Context) -> ir.Module:
    """Read MLIR text or bytecode.

    Raises:
        VerifyError: it does not parse or does not verify.
    """
    if len(text) > _LONG_TEXT:
        count_constant(context, len(text))
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        custom = None if error.error_diagnostics else custom_syntax(text)
        if custom is None:
            raise verify_error("the module cannot be read", error) from error
        message, line, column = custom
        raise VerifyError(f"line {line}, column {column}: {message}") from error


def custom_syntax(text: str | bytes) -> tuple[str, int, int] | None:
    """Return what to say of custom syntax, its line and its column; None where there is none.

    MLIR itself says nothing of custom syntax that an operation defined in Python lacks.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    match = _CUSTOM.search(data)
    if match is None:
        return None
    start, name = match.start(1), match[1].decode()
    message = f"'{name}' has no custom syntax; write the generic form: \"{name}\"(...)"
    return message, data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)


def moved(operation: ir.Operation, context: ir.Context) -> ir.Module:
    """Return a module of another context with a copy of an operation, or as a copy of a module.

    Args:
        operation: a module, or something that needs nothing of what is around it, as a function.
        context: where to.

    Raises:
        VerifyError: the operation does not verify.
    """
    return read_module(bytecode(operation), context)


def bytecode(operation: ir.Operation) -> bytes:
    """Return an operation as MLIR bytecode, with the elements of its constants."""
    data = io.BytesIO()
    with lock_of(operation.context):
        operation.write_bytecode(data)
    return data.getvalue()


def verify_error(message: str, error: ir.MLIRError) -> VerifyError:
    """Return MLIR's diagnostics as an exception.

    Args:
        message: its first line.
        error: what MLIR raised.
    """
    lines = [f"{item.location}: {item.message}" for item in error.error_diagnostics]
    return VerifyError(message, lines or [str(error)])
