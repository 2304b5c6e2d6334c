"""Emission of function expressions as operations."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.builder.block_builder import BlockBuilder
from relax_mlir.relax.expr.functions import Function


def emitted(func: Function) -> ir.Operation:
    """Return the `func.func` of `Function(params, body)`, in a module that the function keeps.

    Raises:
        BuilderError: its body uses a variable that is none of its parameters.
    """
    name = str(func.attrs.get("global_symbol", "main"))
    if not isinstance(func._keep, IRModule):
        builder = BlockBuilder()
        builder.add_func(func, name)
        func._keep = builder.get()
    op = func._keep[name].mlir_op
    assert op is not None, "functions of modules have operations"
    return op
