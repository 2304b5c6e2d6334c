"""Reading MLIR modules, and copying operations from one MLIR context to another."""

import io

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.context_memory import count_constant
from relax_mlir.errors import VerifyError

# A longer text is mostly the numbers of constants, which its context keeps.
_LONG_TEXT = 1 << 16


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
        raise verify_error("the module cannot be read", error) from error


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
