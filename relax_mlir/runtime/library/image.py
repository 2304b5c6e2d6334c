"""Image resizing at run time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.resampling import CROP, Numbers, cubic_weight, nearest, source_position
from relax_mlir.runtime.library.layouts import from_plain, ndim_of, to_plain
from relax_mlir.runtime.library.operands import check, size_of
from relax_mlir.runtime.models.images import affine_grid, grid_sample
from relax_mlir.runtime.values.convert import describe, numpy_dtype

_Array = np.ndarray
_NUMBERS = Numbers(np.floor, np.ceil, np.rint, np.maximum, np.where)


def _taps(
    place: _Array, size: int, method: str, rounding: str, alpha: float, exclude: int
) -> list[tuple[_Array, Any]]:
    """Return for each tap the pixels, not yet inside of the image, and how much they count."""
    if method == "nearest_neighbor":
        return [(nearest(place, rounding, _NUMBERS), None)]
    first = np.floor(place)
    t = place - first
    if method == "linear":
        return [(first, 1 - t), (first + 1, t)]
    pixels = [first + offset for offset in (-1, 0, 1, 2)]
    weights = [cubic_weight(t, tap, alpha) for tap in range(4)]
    if exclude:
        weights = [
            np.where((pixel >= 0) & (pixel < size), weight, 0)
            for pixel, weight in zip(pixels, weights, strict=True)
        ]
        total = sum(weights)
        weights = [weight / total for weight in weights]
    return list(zip(pixels, weights, strict=True))


def _fitted(value: _Array, dtype: np.dtype) -> _Array:
    if dtype.kind in "iu" and value.dtype.kind == "f":
        limits = np.iinfo(dtype)
        low, high = float(limits.min), float(limits.max)
        high = math.nextafter(high, 0) if high > limits.max else high
        value = value.clip(low, high)
    return value.astype(dtype)


def _wide(dtypes: Sequence[np.dtype]) -> Any:
    double = any(d == np.float64 or (d.kind in "iu" and d.itemsize > 2) for d in dtypes)
    return np.float64 if double else np.float32


def _resize(
    data: _Array, size: Any, roi: Any, layout: str, method: str, mode: str, rounding: str,
    alpha: float, exclude: int, extrapolation: float, out_dtype: str | None,
) -> _Array:  # fmt: skip
    check(data)
    wanted = size_of(size)
    letters = "".join(sorted(filter(str.isupper, layout), key="NCDHW".index))
    rank, ndim = len(letters) - 2, ndim_of(layout)
    if data.ndim != ndim or len(wanted) not in (1, rank):
        raise ArgumentTypeError(
            f"data must have {ndim} dimensions and size one or {rank}, got {data.ndim} and {wanted}"
        )
    data = to_plain(data, layout, letters)
    dtype = numpy_dtype(out_dtype) if out_dtype else data.dtype
    if method != "nearest_neighbor" and "b" in (data.dtype.kind, dtype.kind):
        raise ArgumentTypeError(f"pixels of dtype bool have no {method} interpolation")
    kind, value, outside = _wide([data.dtype, dtype]), data, np.zeros((1,) * (rank + 2), bool)
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    for which, count in enumerate(wanted * (rank if len(wanted) == 1 else 1)):
        axis = 2 + which
        length = data.shape[axis]
        if count and not length:
            raise ShapeMismatchError(f"there are no pixels for {count} along axis {axis}")
        ends = (roi[which], roi[rank + which]) if roi else (0.0, 1.0)
        at = np.arange(count, dtype="float64")
        place = source_position(at, float(length), np.float64(count), mode, ends, _NUMBERS)
        along = [count if each == axis else 1 for each in range(rank + 2)]
        total: Any = None
        for pixel, weight in _taps(place, length, method, rounding, alpha, exclude):
            tap = value.take(pixel.clip(0, max(length - 1, 0)).astype("int64"), axis)
            if weight is not None:
                tap = tap.astype(kind) * weight.astype(kind).reshape(along)
            total = tap if total is None else total + tap
        value = total
        outside = outside | ((place < 0) | (place > length - 1)).reshape(along)
    value = _fitted(value, dtype)
    if mode == CROP:
        value = np.where(outside, _fitted(np.asarray(extrapolation, "float64"), dtype), value)
    return from_plain(value, letters, layout)


def _affine_grid(data: _Array, size: Any, align_corners: bool) -> _Array:
    check(data, "f")
    shape = size_of(size)
    rank = len(shape)
    if data.ndim != 3 or data.shape[1:] != (rank, rank + 1):
        raise ArgumentTypeError(f"maps of {rank} dimensions, got {describe(data)}")
    return np.moveaxis(affine_grid(data, shape, align_corners), -1, 1)


_METHODS = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


def _grid_sample(
    data: _Array, grid: _Array, method: str, layout: str, padding_mode: str, align_corners: bool
) -> _Array:
    check(data)
    check(grid, "f")
    order = [layout.index(letter) for letter in ("NCHW" if len(layout) == 4 else "NCDHW")]
    if data.ndim != len(layout) or grid.ndim != data.ndim or grid.shape[1] != data.ndim - 2:
        raise ArgumentTypeError(f"{describe(grid)} does not fit {describe(data)}")
    if grid.shape[0] != data.shape[order[0]]:
        raise ShapeMismatchError(f"{grid.shape[0]} grids for a batch of {data.shape[order[0]]}")
    result = grid_sample(
        data.transpose(order), np.moveaxis(grid, 1, -1),
        mode=_METHODS[method], padding_mode=padding_mode, align_corners=align_corners,
    )  # fmt: skip
    return result.transpose(np.argsort(order))


IMAGE: dict[str, Callable[..., Any]] = {
    "resize2d": _resize,
    "resize3d": _resize,
    "affine_grid": _affine_grid,
    "grid_sample": _grid_sample,
}
