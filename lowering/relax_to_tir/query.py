"""Sizes and shapes of tensors as prim funcs."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer


def legalize_size(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the number of elements: an expression of the symbols."""
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        with builder.nest("size", []):
            buffers[-1].store(cast(builder.symbol(product(dims)), "int64"), ())

    return legalizer.call_inferred(op, [op.operands[0]], body)


LEGALIZE = {"size": legalize_size}
