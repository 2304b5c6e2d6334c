"""Sizes and shapes of tensors as prim funcs."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.base import infer_result, is_absent
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import cast
from relax_mlir.lowering.relax_to_tir.support.emit import (
    LIBRARY_PREFIX,
    Legalizer,
    call_packed,
    matched,
)


def legalize_size(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise the number of elements: an expression of the symbols."""
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        with builder.nest("size", []):
            buffers[-1].store(cast(builder.symbol(product(dims)), "int64"), ())

    return legalizer.call_inferred(op, [op.operands[0]], body)


def legalize_scalar_to_tensor(legalizer: Legalizer, op: ir.Operation) -> ir.Value:
    """Legalise a number as a tensor: an expression of symbols, or what only run time knows."""
    number = op.operands[0].owner
    dtype = T.tensor_dtype(infer_result(op))
    if isinstance(number, ir.Operation) and number.name == "relax.prim_value":
        (value,) = Dims(number.attributes["value"]).dims

        def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
            with builder.nest("scalar_to_tensor", []):
                buffers[-1].store(cast(builder.symbol(value), dtype), ())

        made = legalizer.call_inferred(op, [], body, uses=[value])
        if made is not None:
            return made
    with ir.InsertionPoint(op), op.location:
        name = f"{LIBRARY_PREFIX}scalar_to_tensor"
        return matched(
            op, call_packed(name, [op.operands[0]], infer_result(op), [ir.StringAttr.get(dtype)])
        )


def legalize_view(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a view of the tensor's own shape: the library knows it from that of one element."""
    data, shape = op.operands
    if is_absent(shape):
        known = T.shape_type(T.tensor_dims(data.type), T.tensor_ndim(data.type))
        with ir.InsertionPoint(op), op.location:
            own = ir.Operation.create("relax.shape_of", results=[known], operands=[data])
        op.operands[1] = own.result
    return None


LEGALIZE = {
    "memory_view": legalize_view,
    "size": legalize_size,
    "scalar_to_tensor": legalize_scalar_to_tensor,
}
