"""Quantize and dequantize, by one scale or by one per channel."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.relax.ops.elementwise import expect_kind, with_dtype


def is_single(type_: ir.Type) -> bool:
    """Whether a tensor is known to have one element, whatever its rank."""
    dims = T.tensor_dims(type_)
    return T.tensor_ndim(type_) == 0 or (dims is not None and all(dim == 1 for dim in dims))


def _parameter(type_: ir.Type, what: str, data: ir.Type, axis: int) -> None:
    """Check a scale or zero point: one element, or a vector as long as the data's axis."""
    expect_kind(type_, "numeric", what)
    if is_single(type_):
        return
    ndim, dims = T.tensor_ndim(type_), T.tensor_dims(type_)
    if dims is None and ndim != 1:
        return
    if ndim != 1:
        raise InferError(f"{what} must have one element or one dimension, got {ndim} dimensions")
    whole = T.tensor_dims(data)
    if dims is None or whole is None:
        return
    if not whole:
        raise InferError(
            f"{what} has {dims[0]} elements; data without dimensions takes scalar or singleton "
            "tensors"
        )
    channels = whole[axis]
    if dims[0] != channels and (dims[0] - channels).is_const:
        raise InferError(f"{what} has {dims[0]} elements for {channels} along axis {axis}")


def _infer(types: Sequence[Any], attrs: dict[str, Any], source: str, target: str) -> ir.Type:
    data, scale, zero_point = types
    expect_kind(data, source, "data")
    expect_kind(scale, "floating-point", "scale")
    ndim, axis = T.tensor_ndim(data), attrs["axis"]
    if ndim > 0:
        (axis,) = normalize_axes([axis], ndim)
    _parameter(scale, "scale", data, axis)
    _parameter(zero_point, "zero_point", data, axis)
    result = with_dtype(data, T.normalize_dtype(attrs["out_dtype"]))
    if not T.tensor_dtype(result):
        raise InferError(f"out_dtype must be {target}, got none")
    expect_kind(result, target, "out_dtype")
    return result


def _quantize(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return _infer(types, attrs, "floating-point", "integer")


def _dequantize(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return _infer(types, attrs, "numeric", "floating-point")


def _params(out_dtype: str) -> list[Param]:
    return [
        Param("data", "tensor"),
        Param("scale", "tensor", numbers="float32"),
        Param("zero_point", "tensor", numbers="int32"),
        Param("axis", "int", -1),
        Param("out_dtype", "str", out_dtype),
    ]


declare(
    "quantize",
    "`round(data / scale) + zero_point`, halves to even, at most and at least what the dtype has.",
    _params("int8"),
    _quantize,
)
declare(
    "dequantize",
    "`(data - zero_point) * scale`; half precision has its largest number instead of infinity.",
    _params("float32"),
    _dequantize,
)
