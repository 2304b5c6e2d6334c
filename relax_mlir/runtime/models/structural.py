"""Operations whose axes, sizes, paddings or positions are tensors; semantics of ONNX."""

from collections.abc import Callable
from typing import Any

import numpy as np

_Array = np.ndarray


def _ints(array: _Array | None) -> list[int]:
    return [] if array is None else [int(each) for each in array.reshape(-1)]


def _shape(x: _Array, *, start: int, end: int | None) -> Any:
    return np.array(x.shape[slice(start, end)], "int64")


def _reshape(x: _Array, shape: _Array, *, allowzero: bool) -> Any:
    to = _ints(shape)
    if not allowzero:
        to = [x.shape[i] if size == 0 else size for i, size in enumerate(to)]
    return x.reshape(to)


def _expand(x: _Array, shape: _Array) -> Any:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(_ints(shape))))


def _split(x: _Array, sizes: _Array, *, axis: int) -> Any:
    if sum(_ints(sizes)) != x.shape[axis]:
        raise ValueError(f"parts {_ints(sizes)} of an axis of {x.shape[axis]}")
    return np.split(x, np.cumsum(_ints(sizes))[:-1], axis)


def _slice(x: _Array, starts: Any, ends: Any, axes: Any, steps: Any = None) -> Any:
    count = len(_ints(starts))
    index = [slice(None)] * x.ndim
    places = zip(
        _ints(starts),
        _ints(ends),
        _ints(axes) or range(count),
        _ints(steps) or [1] * count,
        strict=True,
    )
    for start, end, axis, step in places:
        size = x.shape[axis]
        if step < 0:
            start = min(max(start + size, 0) if start < 0 else start, size - 1)
            end = max(end + size if end < 0 else end, -1)
            index[axis] = (
                slice(start, None if end < 0 else end, step) if start >= 0 else slice(0, 0)
            )
        else:
            index[axis] = slice(start, end, step)
    return x[tuple(index)]


def _pad(x: _Array, pads: Any, value: Any, axes: Any, *, mode: str) -> Any:
    given = _ints(pads)
    places = [axis % x.ndim for axis in _ints(axes)] or list(range(x.ndim))
    width = [(0, 0)] * x.ndim
    for i, axis in enumerate(places):
        width[axis] = (given[i], given[len(places) + i])
    cut = tuple(
        slice(max(-low, 0), size - max(-high, 0))
        for (low, high), size in zip(width, x.shape, strict=True)
    )
    grown = [(max(low, 0), max(high, 0)) for low, high in width]
    if mode == "constant":
        fill = 0 if value is None else value.reshape(-1)[0]
        return np.pad(x[cut], grown, "constant", constant_values=fill)
    return np.pad(x[cut], grown, mode)  # type: ignore[call-overload]


def _range(start: _Array, limit: _Array, step: _Array) -> Any:
    return np.arange(start.item(), limit.item(), step.item(), dtype=start.dtype)


def _trilu(x: _Array, k: _Array, *, upper: bool) -> Any:
    return (np.triu if upper else np.tril)(x, int(k.reshape(-1)[0]))


def _full(shape: _Array, *, value: Any, dtype: str) -> Any:
    return np.full(_ints(shape), value, dtype)


def _tile(x: _Array, repeats: _Array) -> Any:
    return np.tile(x, _ints(repeats))


def _squeeze(x: _Array, axes: _Array | None) -> Any:
    return np.squeeze(x, None if axes is None else tuple(_ints(axes)))


def _unsqueeze(x: _Array, axes: _Array) -> Any:
    return np.expand_dims(x, tuple(_ints(axes)))


def _center_crop_pad(x: _Array, shape: _Array, *, axes: list[int]) -> Any:
    for axis, size in zip(axes, _ints(shape), strict=True):
        have = x.shape[axis]
        if have > size:
            first = (have - size) // 2
            x = np.take(x, range(first, first + size), axis)
        elif have < size:
            width = [(0, 0)] * x.ndim
            width[axis] = ((size - have) // 2, size - have - (size - have) // 2)
            x = np.pad(x, width)
    return x


def _one_hot(indices: _Array, depth: _Array, values: _Array, *, axis: int) -> Any:
    count = int(depth.reshape(-1)[0])
    places = np.arange(count).reshape([-1 if i == axis else 1 for i in range(indices.ndim + 1)])
    wrapped = np.where((indices >= -count) & (indices < 0), indices + count, indices)
    hot = np.expand_dims(wrapped.astype("int64"), axis) == places
    return np.where(hot, values[1], values[0])


def _compress(x: _Array, condition: _Array, *, axis: int | None) -> Any:
    return np.compress(condition, x, axis)


def _top_k(x: _Array, k: _Array, *, axis: int, largest: bool) -> Any:
    count = int(k.reshape(-1)[0])
    last = x.shape[axis] - 1
    if largest:
        # The last of a reversed stable order is the first of equals.
        order = last - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis, kind="stable")
    order = np.take(order, range(count), axis)
    return np.take_along_axis(x, order, axis), order.astype("int64")


def _unique(x: _Array, *, axis: int | None, sorted: bool) -> Any:
    values, first, inverse, counts = np.unique(x, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    return values, *(each.astype("int64") for each in (first, inverse, counts))


def _scan(accumulate: Any, start: int) -> Callable[..., Any]:
    def compute(x: _Array, axis: _Array, *, exclusive: bool, reverse: bool) -> Any:
        at = int(axis.reshape(-1)[0])
        x = np.flip(x, at) if reverse else x
        if exclusive:
            first = np.full_like(np.take(x, [0], at), start)
            x = np.concatenate([first, np.take(x, range(x.shape[at] - 1), at)], at)
        y = accumulate(x, at, dtype=x.dtype)
        return np.flip(y, at) if reverse else y

    return compute


def _reverse_sequence(x: _Array, lengths: _Array, *, batch_axis: int, time_axis: int) -> Any:
    moved = np.moveaxis(x, (batch_axis, time_axis), (0, 1)).copy()
    for row, length in zip(moved, _ints(lengths), strict=True):
        row[:length] = row[:length][::-1].copy()
    return np.moveaxis(moved, (0, 1), (batch_axis, time_axis))


def _tensor_scatter(past: _Array, update: _Array, at: Any, *, axis: int, mode: str) -> Any:
    result = past.copy()
    axis = axis % past.ndim
    size, count = past.shape[axis], update.shape[axis]
    for batch, first in enumerate(_ints(at) or [0] * past.shape[0]):
        places = np.arange(first, first + count)
        places = places % size if mode == "circular" else places
        row = np.moveaxis(result[batch], axis - 1, 0)
        row[places] = np.moveaxis(update[batch], axis - 1, 0)
    return result


_REDUCE: dict[str, Callable[..., Any]] = {
    "ReduceSum": lambda x, a, k: np.sum(x, a, dtype=x.dtype, keepdims=k),
    "ReduceMean": lambda x, a, k: np.mean(x, a, keepdims=k),
    "ReduceMax": lambda x, a, k: np.max(x, a, keepdims=k, initial=_lowest(x.dtype)),
    "ReduceMin": lambda x, a, k: np.min(x, a, keepdims=k, initial=_highest(x.dtype)),
    "ReduceProd": lambda x, a, k: np.prod(x, a, dtype=x.dtype, keepdims=k),
    "ReduceL1": lambda x, a, k: np.sum(np.abs(x), a, dtype=x.dtype, keepdims=k),
    "ReduceL2": lambda x, a, k: np.sqrt(np.sum(x * x, a, dtype=x.dtype, keepdims=k)),
    "ReduceSumSquare": lambda x, a, k: np.sum(x * x, a, dtype=x.dtype, keepdims=k),
    "ReduceLogSum": lambda x, a, k: np.log(np.sum(x, a, dtype=x.dtype, keepdims=k)),
    "ReduceLogSumExp": lambda x, a, k: _log_sum_exp(x, a, k),
}
_OF_ONE: dict[str, Callable[[Any], Any]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.abs,
    "ReduceSumSquare": np.square,
    "ReduceLogSum": np.log,
}


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _log_sum_exp(x: _Array, axes: Any, keep: bool) -> Any:
    top = np.max(x, axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axes, keepdims=True)) + top
    return total if keep else np.squeeze(total, axes)


def _reduce(
    x: _Array, axes: _Array, *, kind: str, keepdims: bool, noop_with_empty_axes: bool
) -> Any:
    along = tuple(axis % x.ndim for axis in _ints(axes))
    if not along and noop_with_empty_axes:
        return _OF_ONE.get(kind, lambda same: same)(x)
    return np.asarray(_REDUCE[kind](x, along or tuple(range(x.ndim)), keepdims)).astype(x.dtype)


def _append_cache(past: Any, new: _Array, before: _Array, total: _Array) -> Any:
    """Return a cache (batch, heads, length, depth) with what is new after each batch's own."""
    held = 0 if past is None else past.shape[2]
    shape = (*new.shape[:2], max(held, int(total.reshape(-1)[0])), new.shape[3])
    cache = np.zeros(shape, new.dtype)
    if past is not None:
        cache[:, :, :held] = past
    for batch, start in enumerate(_ints(before)):
        cache[batch, :, start : start + new.shape[2]] = new[batch]
    return cache


STRUCTURAL: dict[str, Callable[..., Any]] = {
    "append_cache": _append_cache,
    "center_crop_pad": _center_crop_pad,
    "compress": _compress,
    "cumprod": _scan(np.cumprod, 1),
    "cumsum": _scan(np.cumsum, 0),
    "expand": _expand,
    "full": _full,
    "one_hot": _one_hot,
    "pad": _pad,
    "range": _range,
    "reduce": _reduce,
    "reshape": _reshape,
    "reverse_sequence": _reverse_sequence,
    "shape": _shape,
    "slice": _slice,
    "split": _split,
    "squeeze": _squeeze,
    "tensor_scatter": _tensor_scatter,
    "tile": _tile,
    "top_k": _top_k,
    "trilu": _trilu,
    "unique": _unique,
    "unsqueeze": _unsqueeze,
}
