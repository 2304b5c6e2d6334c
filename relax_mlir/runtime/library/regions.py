"""Pooling of regions of interest (RoI) at run time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.library.operands import check

_Array = np.ndarray
# A bin of a region with infinite corners has so many samples at most.
_MAX_SAMPLES = 1 << 16


def _checked(data: _Array, rois: _Array, size: Any, layout: str) -> tuple[_Array, list[int]]:
    """Return images with channels first, and how many rows and columns of bins there are."""
    check(rois, "f")
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeMismatchError(
            f"data has 4 dimensions and rois (r, 5), got {data.shape} and {rois.shape}"
        )
    if layout not in ("NCHW", "NHWC"):
        raise ArgumentTypeError(f"layout must be NCHW or NHWC, got '{layout}'")
    bins = [size] * 2 if isinstance(size, int) else list(size)
    return data if layout == "NCHW" else data.transpose(0, 3, 1, 2), bins


def _index(place: Any, length: int) -> _Array:
    """Return whole numbers as indices, those far outside of a dimension as just outside of it."""
    near = np.clip(place, -4, length + 4)
    return np.where(np.isnan(place), -4, near).astype("int64")


def _image(number: Any, count: int) -> int:
    return max(min(int(_index(number, count)), count - 1), 0)


def _taps(at: _Array, length: int) -> tuple[_Array, list[tuple[_Array, _Array]]]:
    """Return which places are outside, and the two pixels around each with their weights."""
    inside = np.maximum(np.minimum(at, at.dtype.type(length - 1)), 0)
    first = np.floor(inside)
    low, share = _index(first, length), inside - first
    pixels = [np.clip(low + k, 0, length - 1) for k in (0, 1)]
    return (at < -1) | (at > length), [(pixels[0], 1 - share), (pixels[1], share)]


def _roi_align(
    data: _Array, rois: _Array, pooled_size: Any, spatial_scale: float, sample_ratio: int,
    aligned: bool, layout: str, mode: str,
) -> _Array:  # fmt: skip
    check(data, "f")
    images, bins = _checked(data, rois, pooled_size, layout)
    kind, sizes = rois.dtype, images.shape[2:]
    out = np.empty((len(rois), images.shape[1], *bins), data.dtype)
    for r, row in enumerate(rois):
        image = images[_image(row[0], len(images))] if images.size else None
        places: list[list[_Array]] = []
        for axis in (0, 1):
            low, high = (row[k] * kind.type(spatial_scale) for k in (2 - axis, 4 - axis))
            span = high - low if aligned else np.maximum(high - low, kind.type(1))
            step = span / kind.type(bins[axis])
            count = sample_ratio
            if count <= 0:
                count = max(int(_index(np.ceil(step), _MAX_SAMPLES)), 0)
            count = count if image is not None else 0
            samples = (np.arange(count, dtype=kind) + kind.type(0.5)) * step / kind.type(count or 1)
            places.append([low + kind.type(b) * step + samples for b in range(bins[axis])])
        for i, rows in enumerate(places[0]):
            for j, columns in enumerate(places[1]):
                out[r, :, i, j] = _bin(image, rows, columns, sizes, data.dtype, mode)
    return out if layout == "NCHW" else out.transpose(0, 2, 3, 1)


def _bin(
    image: _Array | None, rows: _Array, columns: _Array, sizes: Any, dtype: np.dtype, mode: str
) -> Any:
    """Return the mean or maximum of the samples at rows and columns for each channel."""
    if image is None or not len(rows) or not len(columns):
        return np.finfo(dtype).min if mode == "max" else 0
    no_row, along_rows = _taps(rows, sizes[0])
    no_column, along_columns = _taps(columns, sizes[1])
    value: Any = 0
    for y, row_weight in along_rows:
        for x, column_weight in along_columns:
            value = value + image[:, y][:, :, x] * row_weight[:, None] * column_weight
    outside = no_row[:, None] | no_column
    value = np.where(outside, 0, value).reshape(len(image), -1).astype(dtype)
    return value.max(1) if mode == "max" else value.sum(1) / dtype.type(value.shape[1])


def _roi_pool(
    data: _Array, rois: _Array, pooled_size: Any, spatial_scale: float, layout: str
) -> _Array:
    check(data, "iuf")
    images, bins = _checked(data, rois, pooled_size, layout)
    kind, sizes = rois.dtype, images.shape[2:]
    out = np.zeros((len(rois), images.shape[1], *bins), data.dtype)
    for r, row in enumerate(rois if images.size else ()):
        image = images[_image(row[0], len(images))]
        bounds: list[list[tuple[int, ...]]] = []
        for axis, count in enumerate(bins):
            low, high = (
                _index(np.floor(row[k] * kind.type(spatial_scale) + kind.type(0.5)), sizes[axis])
                for k in (2 - axis, 4 - axis)
            )
            step = kind.type(max(high - low + 1, 1)) / kind.type(count)
            ends = [(np.floor(kind.type(b) * step), np.ceil(kind.type(b + 1) * step))
                    for b in range(count)]  # fmt: skip
            bounds.append([
                tuple(max(min(int(low) + int(end), sizes[axis]), 0) for end in pair)
                for pair in ends
            ])  # fmt: skip
        for i, (y0, y1) in enumerate(bounds[0]):
            for j, (x0, x1) in enumerate(bounds[1]):
                if y0 < y1 and x0 < x1:
                    out[r, :, i, j] = image[:, y0:y1, x0:x1].max((1, 2))
    return out


REGIONS: dict[str, Callable[..., Any]] = {"roi_align": _roi_align, "roi_pool": _roi_pool}
