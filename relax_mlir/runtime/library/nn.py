"""Convolution, pooling and dropout at run time."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.library.layouts import from_plain, ndim_of, to_plain
from relax_mlir.runtime.library.operands import widen
from relax_mlir.runtime.values.convert import describe, numpy_dtype

_Array = np.ndarray
_Ints = Sequence[int]
_SINGLE = np.dtype("float32")
_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _check(value: Any, ndim: int, what: str) -> None:
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(f"{what} must be a tensor, got {describe(value)}")
    if value.ndim != ndim:
        raise ArgumentTypeError(f"{what} must have {ndim} dimensions, got {value.ndim}")


def _wide(dtype: np.dtype) -> np.dtype:
    return _SINGLE if dtype.kind == "f" and dtype.itemsize < 4 else dtype


def each_axis(values: _Ints, rank: int) -> list[int]:
    """Return one number per spatial axis, of one for all or one for each."""
    return list(values) if len(values) == rank else [values[0]] * rank


def pads_of(padding: _Ints, rank: int) -> list[tuple[int, int]]:
    """Return what is padded before and after each spatial axis."""
    if len(padding) == 2 * rank:
        return list(zip(padding[:rank], padding[rank:], strict=True))
    return [(item, item) for item in each_axis(padding, rank)]


def _windows(x: _Array, size: _Ints, strides: _Ints, dilation: _Ints) -> _Array:
    """Return the windows of what has its spatial axes last, as as many axes more at the end."""
    rank = x.ndim - 2
    spans = [(extent - 1) * d + 1 for extent, d in zip(size, dilation, strict=True)]
    if any(span > room for span, room in zip(spans, x.shape[2:], strict=True)):
        raise ShapeMismatchError(f"a window of {tuple(spans)} is larger than {x.shape[2:]}")
    axes = tuple(range(2, rank + 2))
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=axes)
    steps = [slice(None, None, stride) for stride in (*strides, *dilation)]
    return view[(slice(None), slice(None), *steps)]


def _conv_operands(
    data: _Array, weight: _Array, rank: int, layouts: tuple[str, str], out_dtype: str | None
) -> tuple[_Array, _Array, np.dtype]:
    """Return data and weight in the plain layouts and the dtype of sums, and the result's."""
    _check(data, ndim_of(layouts[0]), "data")
    _check(weight, ndim_of(layouts[1]), "weight")
    if data.dtype != weight.dtype and not out_dtype:
        raise ArgumentTypeError(
            f"operand dtypes must match, got {data.dtype.name} and {weight.dtype.name}"
        )
    dtype = numpy_dtype(out_dtype) if out_dtype else data.dtype
    image = to_plain(data, layouts[0], f"NC{_SPATIAL[rank]}").astype(_wide(dtype), copy=False)
    kernel = to_plain(weight, layouts[1], f"OI{_SPATIAL[rank]}").astype(_wide(dtype), copy=False)
    return image, kernel, dtype


def _conv(rank: int) -> Callable[..., _Array]:
    def compute(
        data: _Array, weight: _Array, strides: _Ints, padding: _Ints, dilation: _Ints, groups: int,
        data_layout: str, kernel_layout: str, out_layout: str | None, out_dtype: str | None,
    ) -> _Array:  # fmt: skip
        layouts = data_layout, kernel_layout
        image, kernel, dtype = _conv_operands(data, weight, rank, layouts, out_dtype)
        if image.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
            raise ShapeMismatchError(
                f"data of {image.shape[1]} channels and weight of {kernel.shape[:2]} do not match "
                f"in {groups} groups"
            )
        size = kernel.shape[2:]
        image = np.pad(image, ((0, 0), (0, 0), *pads_of(padding, rank)))
        view = _windows(image, size, each_axis(strides, rank), each_axis(dilation, rank))
        batch, channels, *out = view.shape[: rank + 2]
        inner = channels // groups * math.prod(size)
        columns = view.reshape(batch, groups, channels // groups, *out, *size)
        order = (0, 1, 2, *range(rank + 3, 2 * rank + 3), *range(3, rank + 3))
        columns = columns.transpose(order).reshape(batch, groups, inner, math.prod(out))
        rows = kernel.reshape(groups, kernel.shape[0] // groups, inner)
        result = np.matmul(rows, columns).reshape(batch, kernel.shape[0], *out)
        target = out_layout or data_layout
        return from_plain(result, f"NC{_SPATIAL[rank]}", target).astype(dtype, copy=False)

    return compute


def _conv_transpose(rank: int) -> Callable[..., _Array]:
    def compute(
        data: _Array, weight: _Array, strides: _Ints, padding: _Ints, output_padding: _Ints,
        dilation: _Ints, groups: int, data_layout: str, kernel_layout: str, out_layout: str | None,
        out_dtype: str | None,
    ) -> _Array:  # fmt: skip
        layouts = data_layout, kernel_layout
        image, kernel, dtype = _conv_operands(data, weight, rank, layouts, out_dtype)
        outer, inner, *size = kernel.shape
        if image.shape[1] != inner or inner % groups:
            raise ShapeMismatchError(
                f"data of {image.shape[1]} channels and weight of {kernel.shape[:2]} do not match "
                f"in {groups} groups"
            )
        strides, dilation = each_axis(strides, rank), each_axis(dilation, rank)
        more, pads = each_axis(output_padding, rank), pads_of(padding, rank)
        spread = [(n - 1) * s + 1 for n, s in zip(image.shape[2:], strides, strict=True)]
        full = [
            max(n + (k - 1) * d + extra, 0)
            for n, k, d, extra in zip(spread, size, dilation, more, strict=True)
        ]
        left = [n - b - a for n, (b, a) in zip(full, pads, strict=True)]
        if min(left) < 1:
            raise ShapeMismatchError(f"padding leaves {tuple(left)} elements along spatial axes")
        batch = image.shape[0]
        result = np.zeros((batch, groups, outer, *full), image.dtype)
        parts = image.reshape(batch, groups, inner // groups, math.prod(image.shape[2:]))
        kernels = kernel.reshape(outer, groups, inner // groups, *size)
        for steps in itertools.product(*map(range, size)):
            rows = kernels[(slice(None), slice(None), slice(None), *steps)].transpose(1, 0, 2)
            product = np.matmul(rows, parts).reshape(batch, groups, outer, *image.shape[2:])
            places = [
                slice(step * d, step * d + n, s)
                for step, d, n, s in zip(steps, dilation, spread, strides, strict=True)
            ]
            if product.size:
                result[(slice(None), slice(None), slice(None), *places)] += product
        inside = [slice(b, n - a) for n, (b, a) in zip(full, pads, strict=True)]
        result = result.reshape(batch, groups * outer, *full)[(slice(None), slice(None), *inside)]
        target = out_layout or data_layout
        return from_plain(result, f"NC{_SPATIAL[rank]}", target).astype(dtype, copy=False)

    return compute


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind in "bu":
        return 0
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _pool(average: bool, rank: int) -> Callable[..., _Array]:
    def compute(
        data: _Array, pool_size: _Ints, strides: _Ints, padding: _Ints, dilation: _Ints,
        ceil_mode: bool, count_include_pad: bool, layout: str, out_layout: str | None,
    ) -> _Array:  # fmt: skip
        _check(data, ndim_of(layout), "data")
        image = to_plain(data, layout, f"NC{_SPATIAL[rank]}")
        size, strides, dilation = (each_axis(item, rank) for item in (pool_size, strides, dilation))
        pads = pads_of(padding, rank)
        around, inside = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        for axis, (before, after) in enumerate(pads):
            room = image.shape[2 + axis] + before + after - (size[axis] - 1) * dilation[axis] - 1
            extra = -room % strides[axis] if ceil_mode and room > -strides[axis] else 0
            around.append((before, after + extra))
            inside.append((0, extra) if count_include_pad else (before, after + extra))
        wide = widen(image) if average else image
        fill = 0 if average else _lowest(image.dtype)
        view = _windows(np.pad(wide, around, constant_values=fill), size, strides, dilation)
        last = tuple(range(-rank, 0))
        if not average:
            out = view.max(axis=last)
        else:
            shape = [1, 1, *image.shape[2:]]
            if count_include_pad:
                shape[2:] = [n + sum(pads[i]) for i, n in enumerate(shape[2:])]
            ones = np.pad(np.ones(shape, np.int64), inside)
            count = _windows(ones, size, strides, dilation).sum(axis=last)
            out, count = view.sum(axis=last), np.maximum(count, 1)
            out = _share(out, count)
        target = out_layout or layout
        return from_plain(out, f"NC{_SPATIAL[rank]}", target).astype(data.dtype, copy=False)

    return compute


def _share(total: _Array, count: _Array) -> _Array:
    """Return sums divided by how many numbers they are of; quotients of integers are cut off."""
    if total.dtype.kind not in "iu":
        return total / count.astype(total.dtype)
    # 64 bits of an integer are more than floats hold.
    parts = np.abs(total).astype("uint64") // count.astype("uint64")
    return np.where(total < 0, np.negative(parts), parts)


def _adaptive(rank: int) -> Callable[..., _Array]:
    def compute(
        data: _Array, output_size: _Ints | None, layout: str, out_layout: str | None
    ) -> _Array:
        _check(data, ndim_of(layout), "data")
        out = widen(to_plain(data, layout, f"NC{_SPATIAL[rank]}"))
        lengths = np.ones((1,) * (rank + 2), np.int64)
        for axis, count in enumerate(each_axis(output_size, rank) if output_size else (), start=2):
            n = out.shape[axis]
            windows = [range(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]
            out = np.stack([out.take(window, axis).sum(axis) for window in windows], axis)
            along = [count if each == axis else 1 for each in range(rank + 2)]
            lengths = lengths * np.reshape([*map(len, windows)], along)
        out = _share(out, lengths)
        target = out_layout or layout
        return from_plain(out, f"NC{_SPATIAL[rank]}", target).astype(data.dtype)

    return compute


def _dropout(x: _Array, rate: float) -> tuple[_Array, _Array]:
    return x.copy(), np.ones_like(x)


# Name -> function of the operands, then the attributes in their declared order.
NN: dict[str, Callable[..., Any]] = {
    **{f"conv{rank}d": _conv(rank) for rank in _SPATIAL},
    **{f"conv{rank}d_transpose": _conv_transpose(rank) for rank in _SPATIAL},
    **{f"max_pool{rank}d": _pool(False, rank) for rank in _SPATIAL},
    **{f"avg_pool{rank}d": _pool(True, rank) for rank in _SPATIAL},
    **{f"adaptive_avg_pool{rank}d": _adaptive(rank) for rank in _SPATIAL},
    "dropout": _dropout,
}
