"""Floats of 4 and 8 bits and integers of 2 and 4, held as `uint8` and `int8`: casts, quantization.

The conversions are those of the tables in ONNX's documents of Cast and QuantizeLinear.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.values.convert import numpy_dtype

_Array = np.ndarray
# What a cast that saturates does not exceed.
_SATURATING = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def _dtype(name: str) -> np.dtype:
    if name.startswith(("float8", "float4", "int4", "uint4", "int2", "uint2", "bfloat16")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return numpy_dtype(name)


def _is_narrow_int(name: str) -> bool:
    return name in ("int4", "uint4", "int2", "uint2")


def _read(x: _Array, of: str) -> _Array:
    return x.view(_dtype(of)) if of.startswith(("float8", "float4")) else x


def _write(x: _Array, to: str, saturate: bool = True) -> Any:
    """Return numbers as they are held when they have a dtype."""
    if _is_narrow_int(to):
        held = "uint8" if to.startswith("u") else "int8"
        bits = int(to[-1])
        whole = np.trunc(x.astype("float64")).astype("int64") if x.dtype.kind not in "iub" else x
        low, size = whole.astype("int64") & ((1 << bits) - 1), 1 << bits
        if held == "int8":
            low = np.where(low >= size // 2, low - size, low)
        return low.astype(held)
    target = _dtype(to)
    if not to.startswith(("float8", "float4")):
        if to == "bool":
            return x.astype("float32") != 0 if x.dtype.kind not in "iub" else x != 0
        wide = x.astype("float32") if x.dtype.kind not in "fiub" else x
        return wide.astype(target)
    if to in _SATURATING and saturate:
        import ml_dtypes

        limit = float(ml_dtypes.finfo(target).max)
        wide = x.astype("float32")
        x = np.where(np.isnan(wide), wide, np.clip(wide, -limit, limit))
    wide = x if x.dtype.kind == "f" else x.astype("float32")
    if to == "float8_e8m0fnu":
        # Cast's table of special values: Inf and what is greater become the greatest number.
        wide = wide.astype("float64")
        wide = _power_of_two(np.minimum(wide, np.ldexp(1.0, 127)) if saturate else wide)
    return wide.astype(target).view("uint8")


def _power_of_two(x: _Array) -> _Array:
    """Return the least power of two that is no less, as ONNX's `round_mode` "up": 2**-127 for 0."""
    fraction, exponent = np.frexp(x)
    power = np.ldexp(1.0, np.maximum(np.where(fraction > 0.5, exponent, exponent - 1), -127))
    return np.where((x >= 0) & np.isfinite(x), np.where(x == 0, np.ldexp(1.0, -127), power), np.nan)


def _cast(x: _Array, *, of: str, to: str, saturate: bool) -> Any:
    return _write(_read(x, of), to, saturate)


def _bit_cast(x: _Array, *, of: str, to: str) -> Any:
    return x.view(_dtype(to))


def _spread(scale: _Array, shape: tuple[int, ...], axis: int, block: int) -> _Array:
    """Return scales or zero points in the shape of what they belong to."""
    if scale.size == 1:
        return scale.reshape(())
    if block:
        return np.take(np.repeat(scale, block, axis), range(shape[axis]), axis)
    return scale.reshape([-1 if i == axis else 1 for i in range(len(shape))])


def _quantize(
    x: _Array, scale: _Array, zero: _Array | None, *, axis: int, block: int, to: str, saturate: bool
) -> Any:
    axis = axis % max(x.ndim, 1)
    y = x.astype("float32") / _spread(scale, x.shape, axis, block).astype("float32")
    if to.startswith("float"):
        # The zero point is 0, and -0.0 plus it is 0.0.
        return _write(y if zero is None else y + np.float32(0), to, saturate)
    offset = 0 if zero is None else _spread(zero, x.shape, axis, block).astype("float32")
    bits = int(to.lstrip("uint"))
    low = 0 if to.startswith("u") else -(1 << (bits - 1))
    y = np.clip(np.rint(y) + offset, low, low + (1 << bits) - 1)
    return y.astype(
        {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8"}.get(to, to)
    )


def _dequantize(
    x: _Array, scale: _Array, zero: _Array | None, *, axis: int, block: int, of: str
) -> Any:
    axis = axis % max(x.ndim, 1)
    wide = _read(x, of).astype("float32")
    if zero is not None and not of.startswith("float"):
        wide = wide - _spread(zero, x.shape, axis, block).astype("float32")
    return (wide * _spread(scale, x.shape, axis, block).astype("float32")).astype(scale.dtype)


LOWBITS: dict[str, Callable[..., Any]] = {
    "bit_cast": _bit_cast,
    "cast": _cast,
    "dequantize": _dequantize,
    "quantize": _quantize,
}
