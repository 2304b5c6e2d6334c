"""Gather and scatter at run time, and the bounds check of indices for compiled kernels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import binary_broadcast_shape_infer
from relax_mlir.runtime.library.operands import axes as distinct_axes
from relax_mlir.runtime.library.operands import check, check_pair, tensors, widen
from relax_mlir.runtime.values.convert import numpy_dtype

_Array = np.ndarray
_NOTHING = "there is nothing to take from an axis of length 0"


def within(indices: _Array, length: int, mode: str = "fast") -> _Array:
    """Return indices as int64 from 0 to below a length.

    Args:
        indices: integers.
        length: of the axis that they index.
        mode: `"fast"` lets negative ones count from the end and rejects what is out of range;
            `"wrap"` takes the remainder and `"clip"` the nearest; `"nan"` gives -1 for those out
            of range.

    Raises:
        ShapeMismatchError: an index is out of range.
    """
    check(indices, "iu")
    high = int(indices.max(initial=0))
    low = int(indices.min(initial=0))
    wide = indices.astype(np.int64)
    if indices.size and mode in ("wrap", "clip") and not length:
        raise ShapeMismatchError(_NOTHING)
    if mode == "wrap":
        return (indices % np.uint64(length)).astype(np.int64) if high >= 2**63 else wide % length
    if mode == "clip":
        return np.clip(indices, 0, length - 1).astype(np.int64) if indices.size else wide
    if mode == "nan":
        wide = np.where(wide < 0, wide + length, wide)
        return np.where((wide < 0) | (wide >= length), -1, wide)
    if indices.size and (high >= length or low < -length):
        worst = high if high >= length else low
        raise ShapeMismatchError(f"index {worst} is out of range for an axis of length {length}")
    return wide if low >= 0 else np.where(wide < 0, wide + length, wide)


def check_indices(indices: _Array, length: int, mode: str) -> _Array:
    """Return what a kernel may index an axis of that length with; see `within`."""
    return np.asarray(within(indices, length, mode), order="C")


def check_bounds(worst: _Array, indices: _Array, lengths: Sequence[int]) -> tuple[int, ...]:
    """Reject indices that a kernel found to be out of range; return the lengths.

    Args:
        worst: for each length the largest of what should be below it, or for signed indices of the
            index and the length together, which should be below twice that.
        indices: all of them; of several lengths, each is that of a place of the last axis.
        lengths: of the axes.

    Raises:
        ShapeMismatchError: an index is out of range.
    """
    if indices.size:
        sides = 1 if indices.dtype.kind == "u" else 2
        for place, length in enumerate(lengths):
            if int(worst[place]) >= sides * length:
                within(indices if len(lengths) == 1 else indices[..., place], length)
    return tuple(lengths)


def check_targets(worst: _Array, targets: _Array, classes: int, ignored: int) -> tuple[int]:
    """Reject targets of a loss that a kernel found to be no class; return how many there are.

    Args:
        worst: the largest that is not ignored, negative ones as unsigned numbers.
        targets: all of them.
        classes: how many there are.
        ignored: what is no class, and all right.

    Raises:
        ShapeMismatchError: a target is no class.
    """
    if targets.size and int(worst[0]) >= classes:
        wrong = (targets != ignored) & ((targets < 0) | (targets >= classes))
        raise ShapeMismatchError(f"target {targets[wrong][0]} is none of {classes} classes")
    return (classes,)


def check_source(count: int, length: int) -> tuple[int]:
    """Return the length of an axis that some indices take from.

    Raises:
        ShapeMismatchError: there are indices, and nothing to take.
    """
    if count and not length:
        raise ShapeMismatchError(_NOTHING)
    return (length,)


def check_extremes(low: int, high: int, length: int) -> tuple[int]:
    """Return the length of an axis that has places for indices from the least to the largest.

    Raises:
        ShapeMismatchError: it has not.
    """
    within(np.array([low, high]), length)
    return (length,)


def check_count(count: int, length: int) -> tuple[int]:
    """Return how many of an axis a kernel may take, as a shape.

    Raises:
        ShapeMismatchError: there are fewer.
    """
    if count > length:
        raise ShapeMismatchError(f"cannot take {count} of {length} elements")
    return (count,)


def _take(x: _Array, indices: _Array, axis: int | None = None, mode: str = "fast") -> _Array:
    check(x, "f" if mode == "nan" else "biuf")
    source = x.reshape(-1) if axis is None else x
    (axis,) = distinct_axes([0 if axis is None else axis], source.ndim)
    places = within(indices, source.shape[axis], mode)
    if mode != "nan":
        return np.take(source, places, axis)
    padded = np.concatenate(
        [
            source,
            np.full_like(
                source, np.nan, shape=[*source.shape[:axis], 1, *source.shape[axis + 1 :]]
            ),
        ],
        axis,
    )
    return np.take(padded, places, axis)


def _fits(indices: _Array, data: _Array, axis: int) -> None:
    if indices.ndim != data.ndim:
        raise ShapeMismatchError(f"indices of rank {indices.ndim} for data of rank {data.ndim}")
    for i, (a, b) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if i != axis and a > b:
            raise ShapeMismatchError(f"{a} indices in dimension {i}, where the data has {b}")


def _places(indices: _Array, data: _Array, axis: int) -> tuple[_Array, ...]:
    """Return the index of each dimension that the elements of `indices` stand for."""
    grid: list[_Array] = list(np.indices(indices.shape, sparse=True))
    grid[axis] = within(indices, data.shape[axis])
    return tuple(grid)


def _gather_elements(data: _Array, indices: _Array, axis: int = 0) -> _Array:
    check(data)
    (axis,) = distinct_axes([axis], data.ndim)
    _fits(indices, data, axis)
    return data[_places(indices, data, axis)]


_COMBINE: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _put(result: _Array, places: tuple[_Array, ...], updates: _Array, reduction: str) -> _Array:
    if reduction != "update":
        _COMBINE[reduction].at(result, places, updates)
        return result
    shape = np.broadcast_shapes(*(place.shape for place in places))
    rows = [np.broadcast_to(place, shape).reshape(-1) for place in places]
    inner = result.shape[len(places) :]
    # Of several updates of one element the last counts, which numpy does not promise.
    flat = np.ravel_multi_index(rows, result.shape[: len(places)]) if rows[0].size else rows[0]
    _, last = np.unique(flat[::-1], return_index=True)
    keep = len(flat) - 1 - last
    values = np.broadcast_to(updates, (*shape, *inner)).reshape(len(flat), *inner)
    result[tuple([row[keep] for row in rows])] = values[keep]
    return result


def _scatter_elements(
    data: _Array, indices: _Array, updates: _Array, axis: int = 0, reduction: str = "update"
) -> _Array:
    check_pair(data, updates)
    (axis,) = distinct_axes([axis], data.ndim)
    _fits(indices, data, axis)
    if indices.shape != updates.shape:
        raise ShapeMismatchError(f"indices {indices.shape} and updates {updates.shape} differ")
    return _put(data.copy(), _places(indices, data, axis), updates, reduction)


def _columns(indices: _Array, dims: Sequence[int]) -> tuple[_Array, ...]:
    if indices.shape[-1] > len(dims):
        raise ShapeMismatchError(f"{indices.shape[-1]} indices for {len(dims)} dimensions")
    return tuple([within(indices[..., i], dims[i]) for i in range(indices.shape[-1])])


def _gather_nd(data: _Array, indices: _Array, batch_dims: int = 0) -> _Array:
    check(data)
    check(indices, "iu")
    if batch_dims >= indices.ndim or batch_dims > data.ndim:
        raise ArgumentTypeError(f"batch_dims {batch_dims} for {data.shape} and {indices.shape}")
    if data.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise ShapeMismatchError(f"{data.shape} and {indices.shape} differ in their batches")
    places = _columns(indices, data.shape[batch_dims:])
    outer = indices.ndim - 1 - batch_dims
    batch = [
        np.arange(size).reshape([-1 if i == axis else 1 for i in range(indices.ndim - 1)])
        for axis, size in enumerate(data.shape[:batch_dims])
    ]
    if not batch and not places:
        return np.broadcast_to(data, (*[*indices.shape[:-1]][: outer or None], *data.shape)).copy()
    if not places:
        shape = indices.shape[:-1] + data.shape[batch_dims:]
        middle = data.reshape(data.shape[:batch_dims] + (1,) * outer + data.shape[batch_dims:])
        return np.broadcast_to(middle, shape).copy()
    return data[(*batch, *places)]


def _scatter_nd(
    data: _Array, indices: _Array, updates: _Array, reduction: str = "update"
) -> _Array:
    check_pair(data, updates)
    check(indices, "iu")
    if not indices.ndim:
        raise ArgumentTypeError("indices must have at least one dimension")
    places = _columns(indices, data.shape)
    wanted = indices.shape[:-1] + data.shape[len(places) :]
    if updates.shape != wanted:
        raise ShapeMismatchError(f"updates must have shape {wanted}, got {updates.shape}")
    result = data.copy()
    if places:
        return _put(result, places, updates, reduction)
    for update in updates.reshape(-1, *data.shape):
        result = update.copy() if reduction == "update" else _COMBINE[reduction](result, update)
    return result


def _index_tensor(data: _Array, indices: Any) -> _Array:
    check(data)
    if not isinstance(indices, tuple) or not indices or len(indices) > data.ndim:
        raise ArgumentTypeError(f"needs 1 to {data.ndim} tensors of indices")
    shape: tuple[int, ...] = ()
    for each in indices:
        check(each, "iu")
        shape = binary_broadcast_shape_infer(shape, each.shape)
    places = [within(each, data.shape[axis]) for axis, each in enumerate(indices)]
    return data[tuple(places)]


def _meshgrid(values: Any, indexing: Any = "ij") -> tuple[_Array, ...]:
    arrays = tensors(values)
    for array in arrays:
        if array.ndim > 1:
            raise ArgumentTypeError(f"takes vectors, got {array.ndim} dimensions")
    return tuple(np.meshgrid(*arrays, indexing=indexing))


def _slice_scatter(
    data: _Array, source: _Array, start: int, end: int, step: int, axis: int
) -> _Array:
    check_pair(data, source)
    (axis,) = distinct_axes([axis], data.ndim)
    if step < 1 or start < 0:
        raise ArgumentTypeError(f"start must not be negative and step positive: {start}, {step}")
    result = data.copy()
    part = result[(*[slice(None)] * axis, slice(start, end, step))]
    if part.shape != source.shape:
        raise ShapeMismatchError(f"src has shape {source.shape}, the slice {part.shape}")
    part[...] = source
    return result


def _index_put(data: _Array, indices: Any, values: _Array, accumulate: bool) -> _Array:
    check_pair(data, values)
    if len(indices) != data.ndim:
        raise ArgumentTypeError(f"{len(indices)} tensors of indices for rank {data.ndim}")
    places = [within(each, size) for each, size in zip(indices, data.shape, strict=True)]
    rows = np.broadcast_arrays(*places)
    spread = np.broadcast_to(values, rows[0].shape)
    return _put(data.copy(), tuple(rows), spread, "add" if accumulate else "update")


def _multinomial(prob: _Array, uniform: _Array, rows: _Array, dtype: str = "int64") -> _Array:
    check(prob, "f")
    check(uniform, "f")
    if prob.ndim != 2 or uniform.ndim != 2 or rows.shape != uniform.shape or rows.shape[1:] != (1,):
        raise ShapeMismatchError(f"got shapes {prob.shape}, {uniform.shape} and {rows.shape}")
    sums = np.cumsum(widen(prob), axis=1)[within(rows[:, 0], len(prob))]
    below = (sums <= widen(uniform)).sum(axis=1, keepdims=True)
    return below.clip(0, prob.shape[1] - 1).astype(numpy_dtype(dtype))


# Name -> function of the operands, the attributes that may be symbolic, then the other attributes.
INDEX: dict[str, Callable[..., Any]] = {
    "take": _take,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_tensor": _index_tensor,
    "slice_scatter": _slice_scatter,
    "index_put": _index_put,
    "multinomial_from_uniform": _multinomial,
    "meshgrid": _meshgrid,
}
# What kernels rely on, which is no operation of the language.
CHECKS: dict[str, Callable[..., Any]] = {
    "check_indices": check_indices,
    "check_bounds": check_bounds,
    "check_extremes": check_extremes,
    "check_source": check_source,
    "check_targets": check_targets,
    "check_count": check_count,
}
