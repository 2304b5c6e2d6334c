"""Run-time properties of tensors: size, and shapes as tensors."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferTypeError, describe
from relax_mlir.dialects.relax.ops.base import Param, declare


def _size(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return T.tensor_type([], "int64")


def _tensor_to_shape(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim = T.tensor_dtype(types[0]), T.tensor_ndim(types[0])
    if dtype not in ("", "int64") or ndim not in (-1, 1):
        raise InferTypeError(f"a shape is made of one dimension of int64, got {ndim} of {dtype}")
    dims = T.tensor_dims(types[0])
    length = dims[0].value if dims is not None else None
    return T.shape_type(None, -1 if length is None else length)


def _shape_to_tensor(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    ndim = T.shape_ndim(types[0])
    return T.tensor_type(None if ndim < 0 else [ndim], "int64", 1)


def _scalar_to_tensor(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return T.tensor_type([], T.dtype_of_element(types[0]))


def _tensor_to_scalar(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, ndim = T.tensor_dtype(types[0]), T.tensor_ndim(types[0])
    if ndim not in (-1, 0) or not dtype:
        raise InferTypeError(f"takes one element of a known dtype, got {describe(types[0])}")
    return T.element_type(dtype)


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
declare(
    "scalar_to_tensor",
    "A number as a tensor without dimensions.",
    [Param("x", "prim")],
    _scalar_to_tensor,
)
declare(
    "tensor_to_scalar",
    "The element of a tensor without dimensions as a number.",
    [Param("x", "tensor")],
    _tensor_to_scalar,
)
