"""Convolution, pooling and dropout on whatever shapes and dtypes arrive (D0)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.values import describe, numpy_dtype

_Array = np.ndarray
_SINGLE = np.dtype("float32")


def _check(value: Any, ndim: int, what: str) -> None:
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(f"{what} must be a tensor, got {describe(value)}")
    if value.ndim != ndim:
        raise ArgumentTypeError(f"{what} must have {ndim} dimensions, got {value.ndim}")


def _wide(dtype: np.dtype) -> np.dtype:
    return _SINGLE if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return values[0], values[-1]


def _pads(padding: Sequence[int]) -> tuple[int, int, int, int]:
    if len(padding) == 4:
        top, left, bottom, right = padding
        return top, left, bottom, right
    return (padding[0], padding[-1], padding[0], padding[-1])


def _to(x: _Array, source: str, target: str) -> _Array:
    return x.transpose([source.index(letter) for letter in target])


def _windows(
    x: _Array, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> _Array:
    """Return the windows of an image in NCHW as two axes at the end."""
    spans = [(extent - 1) * d + 1 for extent, d in zip(size, dilation, strict=True)]
    if any(span > room for span, room in zip(spans, x.shape[2:], strict=True)):
        raise ShapeMismatchError(f"a window of {tuple(spans)} is larger than {x.shape[2:]}")
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    view = view[:, :, :: strides[0], :: strides[1]]
    return view[..., :: dilation[0], :: dilation[1]]


def _conv2d(
    data: _Array, weight: _Array, strides: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], groups: int, data_layout: str, kernel_layout: str, out_layout: str,
    out_dtype: str,
) -> _Array:  # fmt: skip
    _check(data, 4, "data")
    _check(weight, 4, "weight")
    if data.dtype != weight.dtype:
        raise ArgumentTypeError(
            f"operand dtypes must match, got {data.dtype.name} and {weight.dtype.name}"
        )
    dtype = numpy_dtype(out_dtype) if out_dtype else data.dtype
    image = _to(data, data_layout, "NCHW").astype(_wide(dtype), copy=False)
    kernel = _to(weight, kernel_layout, "OIHW").astype(_wide(dtype), copy=False)
    if image.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ShapeMismatchError(
            f"data of {image.shape[1]} channels and weight of {kernel.shape[:2]} do not match in "
            f"{groups} groups"
        )
    top, left, bottom, right = _pads(padding)
    image = np.pad(image, ((0, 0), (0, 0), (top, bottom), (left, right)))
    view = _windows(image, kernel.shape[2:], _pair(strides), _pair(dilation))
    batch, channels, height, width = view.shape[:4]
    inner = channels // groups * math.prod(kernel.shape[2:])
    columns = view.reshape(batch, groups, channels // groups, height, width, *kernel.shape[2:])
    columns = columns.transpose(0, 1, 2, 5, 6, 3, 4).reshape(batch, groups, inner, height * width)
    rows = kernel.reshape(groups, kernel.shape[0] // groups, inner)
    out = np.matmul(rows, columns).reshape(batch, kernel.shape[0], height, width)
    return _to(out, "NCHW", out_layout or data_layout).astype(dtype, copy=False)


def _pool(average: bool) -> Callable[..., _Array]:
    def compute(
        data: _Array, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool, count_include_pad: bool, layout: str,
        out_layout: str,
    ) -> _Array:  # fmt: skip
        _check(data, 4, "data")
        image = _to(data, layout, "NCHW")
        size, strides, dilation = _pair(pool_size), _pair(strides), _pair(dilation)
        pads = _pads(padding)
        around, inside = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        for axis in (0, 1):
            before, after = pads[axis], pads[axis + 2]
            room = image.shape[2 + axis] + before + after - (size[axis] - 1) * dilation[axis] - 1
            extra = -room % strides[axis] if ceil_mode and room >= 0 else 0
            around.append((before, after + extra))
            inside.append((0, extra) if count_include_pad else (before, after + extra))
        kind = image.dtype.kind
        fill = (
            0 if average or kind in "bu" else -np.inf if kind == "f" else np.iinfo(image.dtype).min
        )
        wide = image.astype(_wide(image.dtype), copy=False) if average else image
        view = _windows(np.pad(wide, around, constant_values=fill), size, strides, dilation)
        if not average:
            out = view.max(axis=(-2, -1))
        else:
            shape = [1, 1, *image.shape[2:]]
            if count_include_pad:
                shape[2:] = [n + pads[i] + pads[i + 2] for i, n in enumerate(shape[2:])]
            ones = np.pad(np.ones(shape, np.int64), inside)
            count = _windows(ones, size, strides, dilation).sum(axis=(-2, -1))
            out = view.sum(axis=(-2, -1)) / np.maximum(count, 1).astype(wide.dtype)
        return _to(out, "NCHW", out_layout or layout).astype(data.dtype, copy=False)

    return compute


def _dropout(x: _Array, rate: float) -> tuple[_Array, _Array]:
    return x.copy(), np.ones_like(x)


# Name -> function of the operands, then the attributes in their declared order.
NN: dict[str, Callable[..., Any]] = {
    "conv2d": _conv2d,
    "max_pool2d": _pool(False),
    "avg_pool2d": _pool(True),
    "dropout": _dropout,
}
