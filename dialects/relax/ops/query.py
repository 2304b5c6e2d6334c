"""Run-time properties of tensors: size, and shapes as tensors."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare


def _size(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return T.tensor_type([], "int64")


def _tensor_to_shape(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim = T.tensor_dtype(types[0]), T.tensor_ndim(types[0])
    if dtype not in ("", "int64") or ndim not in (-1, 1):
        raise InferError(f"a shape is made of one dimension of int64, got {ndim} of {dtype}")
    dims = T.tensor_dims(types[0])
    length = dims[0].value if dims is not None else None
    return T.shape_type(None, -1 if length is None else length)


def _shape_to_tensor(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    ndim = T.shape_ndim(types[0])
    return T.tensor_type(None if ndim < 0 else [ndim], "int64", 1)


declare("size", "How many elements there are.", [Param("x", "tensor")], _size)
declare(
    "tensor_to_shape",
    "The shape whose dimensions are the elements.",
    [Param("x", "tensor")],
    _tensor_to_shape,
)
declare(
    "shape_to_tensor",
    "The dimensions of a shape as elements.",
    [Param("shape", "shape")],
    _shape_to_tensor,
)
