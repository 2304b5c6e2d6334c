"""The pass `remove-redundant-reshape`: reshapes that change nothing, or come before another."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.side_effects import functions_to_optimize, written_values
from relax_mlir.lowering.walk import named


def remove_redundant_reshape(module: ir.Operation) -> None:
    """Take out reshapes to the shape that a tensor has, and all but the last of several in a row.

    A reshape of a tensor that something writes to stays: its result is another tensor.
    """
    for func in functions_to_optimize(module):
        written = written_values(func)
        for op in named(func, ("relax.reshape",)):
            if op.operands[0] in written or op.results[0] in written:
                continue
            source = op.operands[0]
            while (inner := _reshape(source)) is not None and inner.operands[0] not in written:
                source = inner.operands[0]
            dims = T.tensor_dims(source.type)
            if dims is not None and source.type == op.results[0].type:
                op.results[0].replace_all_uses_with(source)
                op.erase()
            elif source != op.operands[0]:
                op.operands[0] = source


def _reshape(value: ir.Value) -> ir.Operation | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "relax.reshape":
        return None
    return value.owner.operation
