"""Quantize and dequantize at run time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ShapeMismatchError
from relax_mlir.runtime.library.operands import axes, check
from relax_mlir.runtime.values.convert import numpy_dtype

_Array = np.ndarray


def _along(what: str, parameter: _Array, data: _Array, axis: int) -> _Array:
    """Return a scale or zero point as it broadcasts to the data."""
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.ndim != 1 or not data.ndim or parameter.size != data.shape[axis]:
        raise ShapeMismatchError(
            f"{what} of shape {parameter.shape} for data of shape {data.shape} along axis {axis}"
        )
    return parameter.reshape([-1 if i == axis else 1 for i in range(data.ndim)])


def _operands(
    data: _Array, scale: _Array, zero_point: _Array, axis: int, out: np.dtype
) -> tuple[_Array, _Array, np.dtype]:
    check(scale, "f")
    check(zero_point, "iuf")
    if data.ndim:
        (axis,) = axes([axis], data.ndim)
    double = np.dtype("float64")
    wide = double if double in (data.dtype, scale.dtype, zero_point.dtype, out) else np.float32
    scales = _along("scale", scale, data, axis).astype(wide)
    return scales, _along("zero_point", zero_point, data, axis), np.dtype(wide)


def _quantize(data: _Array, scale: _Array, zero_point: _Array, axis: int, out_dtype: str) -> Any:
    check(data, "f")
    out = numpy_dtype(out_dtype)
    scales, zeros, wide = _operands(data, scale, zero_point, axis, out)
    with np.errstate(all="ignore"):
        value = np.round(data.astype(wide) / scales) + zeros.astype(wide)
        low, high = np.iinfo(out).min, np.iinfo(out).max
        inside = np.nan_to_num(np.clip(value, wide.type(low), wide.type(high)), nan=0.0)
        result = inside.astype(out)
    # The largest integers of many bits are none of a float: what was rounded up to it stays below.
    return np.where(inside >= float(high), out.type(high), result).astype(out)


def _dequantize(data: _Array, scale: _Array, zero_point: _Array, axis: int, out_dtype: str) -> Any:
    check(data, "iuf")
    out = numpy_dtype(out_dtype)
    scales, zeros, wide = _operands(data, scale, zero_point, axis, out)
    sizes = max(data.dtype.itemsize, zeros.dtype.itemsize)
    floats = "f" in (data.dtype.kind, zeros.dtype.kind)
    exact = wide if floats else np.dtype("float64" if sizes > 4 else "int64")
    with np.errstate(all="ignore"):
        value = (data.astype(exact) - zeros.astype(exact)).astype(wide) * scales
        if out.itemsize < 4:
            # numpy knows no limits of bfloat16.
            most = np.finfo(out).max if out.kind == "f" else np.uint16(0x7F7F).view(out)
            largest = wide.type(most)
            value = np.clip(value, -largest, largest)
        return value.astype(out)


# Name -> function of the operands, then the attributes in their declared order.
QUANTIZE: dict[str, Callable[..., Any]] = {"quantize": _quantize, "dequantize": _dequantize}
