"""Neural-network operations that are not plain elementwise functions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import (
    InferTypeError,
    expect_tensor,
    normalize_axes,
)
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define


class SoftmaxBase(ComputeOp):
    """Exponentials normalised along one axis."""

    PARAMS = (Param("data", "tensor"), Param("axis", "int", -1))
    data: ext.Operand[Any]
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        expect_tensor(types[0], "operand")
        dtype, ndim = T.tensor_dtype(types[0]), T.tensor_ndim(types[0])
        if dtype and "float" not in dtype:
            raise InferTypeError(f"operand must have a floating-point dtype, got {dtype}")
        if ndim >= 0:
            normalize_axes([attrs["axis"]], ndim)
        return types[0]


define(SoftmaxBase, "softmax", "e^x over its sum along an axis.")
define(SoftmaxBase, "log_softmax", "Logarithm of softmax.")
