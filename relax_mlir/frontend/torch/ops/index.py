"""Reading and writing at indices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.frontend.torch.dtypes import dtype_name
from relax_mlir.frontend.torch.importer import Importer
from relax_mlir.frontend.torch.ops.elementwise import _truth
from relax_mlir.frontend.torch.ops.scan import rows_searched
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.frontend.torch.symbols import size
from relax_mlir.relax import op
from relax_mlir.relax.expr.types import TensorType
from relax_mlir.relax.expr.values import const

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@converts("embedding.default")
def _embedding(m: Importer, weight: Any, indices: Any, *_: Any) -> Any:
    return op.take(weight, indices, axis=0)


@converts("index_select.default")
def _index_select(m: Importer, x: Any, dim: int, index: Any) -> Any:
    if not x.ty.ndim:
        return x
    return op.take(x, op.reshape(index, (-1,)) if not index.ty.ndim else index, axis=dim)


@converts("take.default")
def _take(m: Importer, x: Any, index: Any) -> Any:
    return op.take(op.reshape(x, (-1,)), index, axis=0)


@converts("gather.default")
def _gather(m: Importer, x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    if not x.ty.ndim:
        return x
    return op.gather_elements(x, m.cast(index, "int64"), axis=dim)


@converts("take_along_dim.default")
def _take_along(m: Importer, x: Any, index: Any, dim: int) -> Any:
    return op.gather_elements(x, index, axis=dim)


@converts("nonzero.default")
def _nonzero(m: Importer, x: Any) -> Any:
    return op.permute_dims(m.cast(op.nonzero(x), "int64"))


@converts("masked_select.default")
def _masked_select(m: Importer, x: Any, mask: Any) -> Any:
    dims = _broadcast(m, x, mask)
    places = _true_places(m, op.reshape(op.broadcast_to(mask, dims), (-1,)))
    return op.take(op.reshape(op.broadcast_to(x, dims), (-1,)), places, axis=0)


def _broadcast(m: Importer, *tensors: Any) -> list[SymExpr]:
    """Return the dimensions that tensors broadcast to; torch may not say which are the same."""
    first, *others = tensors
    total: Any = op.zeros(first.ty.dims, "bool")
    for other in others:
        total = op.logical_or(total, op.zeros(other.ty.dims, "bool"))
    if total.ty.dims is None:
        names = [m.block_builder.get_unique_name("size") for _ in range(total.ty.ndim)]
        total = m.block_builder.match_cast(m.emit(total), TensorType(names, "bool"))
    return list(total.ty.dims)


def _true_places(m: Importer, mask: Any) -> Any:
    """Return the indices where a vector is true, their number a symbol."""
    names = [symbol.name for symbol in m.node.meta.get("unbacked_bindings") or {}]
    places = m.emit(op.nonzero(mask))
    dtype = places.ty.dtype or "int64"
    count = names[0] if names else m.block_builder.get_unique_name("count")
    bound = m.block_builder.match_cast(places, TensorType((1, count), dtype))
    return op.squeeze(bound, axis=[0])


@converts("index.Tensor", "_unsafe_index.Tensor")
def _index(m: Importer, x: Any, indices: Sequence[Any]) -> Any:
    indices = _without_masks(m, x, indices)
    used = [axis for axis, index in enumerate(indices) if index is not None]
    if len(used) == 1:
        return op.take(x, indices[used[0]], axis=used[0])
    moved, tensors, result = _in_front(x, indices)
    taken = op.index_tensor(moved, tensors)
    return op.permute_dims(taken, result) if result else taken


def _without_masks(m: Importer, x: Any, indices: Sequence[Any]) -> list[Any]:
    """Return indices with the places of its true elements for each mask."""
    plain: list[Any] = []
    for index in indices:
        if index is None or index.ty.dtype != "bool":
            plain.append(index)
            continue
        places = m.emit(op.nonzero(index))
        names = [symbol.name for symbol in m.node.meta.get("unbacked_bindings") or {}]
        count = names[0] if names else m.block_builder.get_unique_name("count")
        type_ = TensorType((index.ty.ndim, count), places.ty.dtype or "int64")
        places = m.block_builder.match_cast(places, type_)
        for axis in range(index.ty.ndim):
            row = op.strided_slice(places, axes=[0], begin=[axis], end=[axis + 1])
            plain.append(m.emit(op.squeeze(row, axis=[0])))
    return plain


def _in_front(x: Any, indices: Sequence[Any]) -> tuple[Any, list[Any], list[int] | None]:
    """Return the tensor with the indexed axes first, the indices, and how to permute the result.

    As numpy has it, the dimensions of the indices stand where the first index is if all indices
    are adjacent, and else in front.
    """
    used = [axis for axis, index in enumerate(indices) if index is not None]
    others = [axis for axis in range(x.ty.ndim) if axis not in used]
    tensors = [indices[axis] for axis in used]
    moved = x if used == list(range(len(used))) else op.permute_dims(x, [*used, *others])
    adjacent = used == list(range(used[0], used[0] + len(used)))
    if not adjacent or not used[0]:
        return moved, tensors, None
    width = max(tensor.ty.ndim for tensor in tensors)
    before = used[0]
    rank = width + len(others)
    result = [*range(width, width + before), *range(width), *range(width + before, rank)]
    return moved, tensors, result


@converts("index_put.default", "_unsafe_index_put.default", "_index_put_impl.default")
def _index_put(
    m: Importer, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, *_: Any
) -> Any:
    if len(indices) == 1 and indices[0].ty.dtype == "bool" and not values.ty.ndim:
        mask = indices[0]
        wide = [*mask.ty.dims, *[SymExpr.const(1)] * (x.ty.ndim - mask.ty.ndim)]
        chosen = op.add(x, values) if accumulate else values
        return op.where(op.reshape(mask, wide), chosen, x)
    indices = _without_masks(m, x, indices)
    indices = [*indices, *[None] * (x.ty.ndim - len(indices))]
    used = [axis for axis, index in enumerate(indices) if index is not None]
    others = [axis for axis in range(x.ty.ndim) if axis not in used]
    order = [*used, *others]
    places = _broadcast(m, *[indices[axis] for axis in used])
    columns = [
        op.expand_dims(op.broadcast_to(m.cast(indices[axis], "int64"), places), axis=-1)
        for axis in used
    ]
    updates = _updates(x, values, used, others, places)
    moved = op.permute_dims(x, order)
    written = op.scatter_nd(
        moved, op.concat(columns, axis=-1), updates, reduction="add" if accumulate else "update"
    )
    return op.permute_dims(written, [order.index(axis) for axis in range(len(order))])


def _updates(x: Any, values: Any, used: list[int], others: list[int], places: list[SymExpr]) -> Any:
    """Return values with the dimensions of the indices in front, those of whole axes behind."""
    whole = [x.ty.dims[axis] for axis in others]
    adjacent = used == list(range(used[0], used[0] + len(used)))
    before = used[0] if adjacent else 0
    result = [*whole[:before], *places, *whole[before:]]
    wide = op.broadcast_to(values, result)
    if not before:
        return wide
    count = len(places)
    axes = [*range(before, before + count), *range(before), *range(before + count, len(result))]
    return op.permute_dims(wide, axes)


@converts("scatter.src", "scatter.value")
def _scatter(m: Importer, x: Any, dim: int, index: Any, src: Any = None, value: Any = None) -> Any:
    return _scattered(m, x, dim, index, value if src is None else src, "update")


@converts("scatter_add.default")
def _scatter_add(m: Importer, x: Any, dim: int, index: Any, src: Any) -> Any:
    return _scattered(m, x, dim, index, src, "add")


@converts("scatter_reduce.two", "scatter.reduce", "scatter.value_reduce")
def _scatter_reduce(
    m: Importer, x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    reduce = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    if reduce == "mean":
        ones = op.ones(index.ty.dims, m.dtype)
        start = op.ones_like(x) if include_self else op.zeros_like(x)
        base = x if include_self else _scattered(m, x, dim, index, 0, "update")
        total = _scattered(m, base, dim, index, src, "add")
        count = op.maximum(_scattered(m, start, dim, index, ones, "add"), m.cast(1, m.dtype))
        divide = op.divide if "float" in m.dtype else op.floor_divide
        return divide(total, count)
    if not include_self:
        neutral = {"sum": 0, "prod": 1}.get(reduce)
        first = src if neutral is None else neutral
        x = _scattered(m, x, dim, index, first, "update")
    return _scattered(m, x, dim, index, src, _REDUCTIONS[reduce])


@converts("index_reduce.default")
def _index_reduce(
    m: Importer, x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    """Combine slices at indices of an axis."""
    if not x.ty.ndim:
        x, src = (op.reshape(each, (1,)) for each in (x, src))
        made = _scatter_reduce(m, x, 0, op.reshape(index, (1,)), src, reduce, include_self)
        return op.reshape(made, ())
    shape = [1] * x.ty.ndim
    shape[dim] = -1
    places = m.emit(op.broadcast_to(op.reshape(index, shape), src.ty.dims))
    return _scatter_reduce(m, x, dim, places, src, reduce, include_self)


def _scattered(m: Importer, x: Any, dim: int, index: Any, src: Any, reduction: str) -> Any:
    """Scatter; torch reads of the source as much as there are indices."""
    if not hasattr(src, "ty") or (not src.ty.ndim and index.ty.ndim):
        src = op.broadcast_to(m.cast(src, m.dtype), index.ty.dims)
    elif src.ty.dims != index.ty.dims:
        axes = list(range(index.ty.ndim))
        src = op.strided_slice(src, axes=axes, begin=[0] * len(axes), end=list(index.ty.dims))
    if not x.ty.ndim:
        x, index, src = (op.reshape(part, (1,)) for part in (x, index, src))
        return op.reshape(_scattered(m, x, 0, index, src, reduction), ())
    return op.scatter_elements(x, index, src, axis=dim, reduction=reduction)


@converts("select_scatter.default")
def _select_scatter(m: Importer, x: Any, src: Any, dim: int, index: Any) -> Any:
    size = x.ty.dims[dim]
    place = size + index if isinstance(index, int) and index < 0 else index
    return _written(m, x, op.expand_dims(src, axis=dim), dim, place, place + 1, 1)


@converts("slice_scatter.default")
def _slice_scatter(
    m: Importer, x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    size = x.ty.dims[dim]
    begin = _inside(0 if start is None else start, size)
    stop = _inside(size if end is None else end, size)
    return _written(m, x, src, dim, begin, stop, step)


def _inside(place: Any, size: SymExpr) -> SymExpr:
    """Return where a bound of a slice is, counted from the beginning."""
    place = SymExpr.of(place)
    if place.value is not None and place.value < 0:
        place = size + place
    return place.min(size).max(SymExpr.const(0))


def _written(m: Importer, x: Any, src: Any, dim: int, begin: Any, end: Any, step: int) -> Any:
    """Return a tensor with a slice of it replaced."""
    size = x.ty.dims[dim]
    if step == 1:
        parts = [
            op.strided_slice(x, axes=[dim], begin=[0], end=[begin]),
            m.cast(src, m.dtype),
            op.strided_slice(x, axes=[dim], begin=[end], end=[size]),
        ]
        return op.concat(parts, axis=dim)
    count = src.ty.dims[dim]
    places = op.add(op.arange(0, count, 1, dtype="int64"), m.cast(SymExpr.of(begin), "int64"))
    if step != 1:
        offsets = op.multiply(op.arange(0, count, 1, dtype="int64"), m.cast(step - 1, "int64"))
        places = op.add(places, offsets)
    shape = [1] * x.ty.ndim
    shape[dim] = count
    index = op.broadcast_to(op.reshape(places, shape), src.ty.dims)
    return op.scatter_elements(x, index, m.cast(src, m.dtype), axis=dim)


@converts("masked_scatter.default")
def _masked_scatter(m: Importer, x: Any, mask: Any, source: Any) -> Any:
    """Put the elements of the source, in order, where the mask is true."""
    mask = op.reshape(op.broadcast_to(mask, x.ty.dims), (-1,))
    order = op.subtract(op.cumsum(m.cast(mask, "int64"), axis=0), m.cast(1, "int64"))
    picked = op.take(op.reshape(source, (-1,)), order, axis=0, mode="clip")
    return op.reshape(op.where(mask, picked, op.reshape(x, (-1,))), m.shape)


@converts("diagonal.default", "diagonal_copy.default")
def _diagonal(m: Importer, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    ndim = x.ty.ndim
    first, second = dim1 % ndim, dim2 % ndim
    others = [axis for axis in range(ndim) if axis not in (first, second)]
    moved = op.permute_dims(x, [first, second, *others])
    places = op.arange(0, m.dims[-1], 1, dtype="int64")
    rows = op.add(places, m.cast(max(-offset, 0), "int64"))
    columns = op.add(places, m.cast(max(offset, 0), "int64"))
    taken = op.index_tensor(moved, [rows, columns])
    return op.permute_dims(taken, [*range(1, ndim - 1), 0])


@converts("diagonal_scatter.default")
def _diagonal_scatter(
    m: Importer, x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    """Return a tensor with a diagonal of two of its axes replaced."""
    ndim = x.ty.ndim
    first, second = dim1 % ndim, dim2 % ndim
    places = op.arange(0, src.ty.dims[-1], 1, dtype="int64")
    ends = {first: max(-offset, 0), second: max(offset, 0)}
    used = sorted(ends)
    columns = [
        op.expand_dims(op.add(places, m.cast(ends[axis], "int64")), axis=-1) for axis in used
    ]
    order = [*used, *[axis for axis in range(ndim) if axis not in used]]
    updates = op.permute_dims(m.cast(src, m.dtype), [ndim - 2, *range(ndim - 2)])
    written = op.scatter_nd(op.permute_dims(x, order), op.concat(columns, axis=-1), updates)
    return op.permute_dims(written, [order.index(axis) for axis in range(ndim)])


@converts("copy.default")
def _copy(m: Importer, x: Any, src: Any, non_blocking: bool = False) -> Any:
    converted = _truth(m, src) if m.dtype == "bool" else m.cast(src, m.dtype)
    return op.broadcast_to(converted, m.dims)


@converts("histc.default")
def _histc(m: Importer, x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    flat = m.emit(op.reshape(x, (-1,)))
    low, high = m.cast(min, m.dtype), m.cast(max, m.dtype)
    if min == max:
        low, high = m.emit(op.min(flat)), m.emit(op.max(flat))
        margin = m.emit(op.astype(op.equal(low, high), m.dtype))
        low, high = op.subtract(low, margin), op.add(high, margin)
    place = op.multiply(op.subtract(flat, low), m.cast(bins, m.dtype))
    place = op.astype(op.trunc(op.divide(place, op.subtract(high, low))), "int64")
    # The last bin has both of its ends; a bin after it counts what is in none.
    place = op.minimum(place, const(bins - 1, "int64"))
    inside = op.logical_and(op.greater_equal(flat, low), op.less_equal(flat, high))
    place = op.where(inside, place, const(bins, "int64"))
    ones = op.ones(flat.ty.dims, m.dtype)
    counts = op.scatter_elements(op.zeros((bins + 1,), m.dtype), place, ones, 0, reduction="add")
    return op.strided_slice(counts, [0], [0], [bins])


@converts("bucketize.Tensor", "bucketize.Scalar")
def _bucketize(
    m: Importer, x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    x = _sought(m, x, boundaries)
    return op.bucketize(x, boundaries, out_int32=out_int32, right=right)


@converts("searchsorted.Tensor", "searchsorted.Scalar")
def _searchsorted(
    m: Importer, sequence: Any, x: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Return places in a sequence, or of each row in a sequence of its own."""
    right = right or side == "right"
    x = _sought(m, x, sequence)
    if sorter is not None:
        sequence = m.emit(op.gather_elements(sequence, sorter, axis=-1))
    if sequence.ty.ndim > 1:
        return m.cast(rows_searched(m, sequence, x, right), m.dtype)
    return op.searchsorted(sequence, x, out_int32=out_int32, right=right)


def _sought(m: Importer, x: Any, sequence: Any) -> Any:
    """Return a number as a scalar tensor; a float among integers stays one."""
    if not isinstance(x, (int, float)):
        return x
    is_between = isinstance(x, float) and "float" not in sequence.ty.dtype
    return m.cast(x, "float32" if is_between else sequence.ty.dtype)


@converts("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(
    m: Importer, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False,
    mode: int = 0, sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int = -1,
) -> list[Any]:  # fmt: skip
    """Return sums, means or maxima (mode 0, 1, 2) of rows by bag, and what training needs."""
    rows = op.take(weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = op.multiply(rows, op.expand_dims(per_sample_weights, axis=1))
    places = op.arange(0, indices.ty.dims[0], 1, dtype="int64")
    bags = op.searchsorted(m.cast(offsets, "int64"), places, right=True)
    bags = m.emit(op.subtract(m.cast(bags, "int64"), m.cast(1, "int64")))
    weights = op.ones([indices.ty.dims[0]], m.dtype)
    if padding_idx >= 0:
        counted = op.not_equal(indices, m.cast(padding_idx, indices.ty.dtype))
        weights = m.cast(counted, m.dtype)
        rows = op.multiply(rows, op.expand_dims(weights, axis=1))
    shape = [size(dim) for dim in m.value[0].shape]
    at = op.expand_dims(bags, axis=1)
    zeros = op.zeros(shape, m.dtype)
    if mode == 2:
        lowest = op.full(shape, m.cast(float("-inf"), m.dtype), m.dtype)
        result = op.scatter_nd(lowest, at, rows, reduction="max")
        result = op.where(op.isfinite(result), result, zeros)
    else:
        result = op.scatter_nd(zeros, at, rows, reduction="add")
    if mode == 1:
        counts = op.scatter_nd(op.zeros(shape[:1], m.dtype), at, weights, reduction="add")
        result = op.divide(result, op.expand_dims(op.maximum(counts, 1.0), axis=1))
    return [result, *[_unused(m, i) for i in (1, 2, 3)]]


@converts("torchvision.nms.default")
def _nms(m: Importer, boxes: Any, scores: Any, threshold: float) -> Any:
    """Return which boxes overlap no better one by more than the threshold, the best first."""
    # Relax drops a box also for an overlap that is equal to its threshold.
    share = const(np.nextafter(np.float32(threshold), np.float32(np.inf)))
    results = m.emit(
        op.vision.all_class_non_max_suppression(
            op.expand_dims(boxes, axis=0), op.expand_dims(scores, axis=[0, 1]), 0, share,
            float("-inf"),
        )
    )  # fmt: skip
    kept = m.block_builder.match_cast(results[0], TensorType([*m.dims, 3], "int64"))
    return op.squeeze(op.strided_slice(kept, axes=[1], begin=[2], end=[3]), axis=[1])


def _unused(m: Importer, index: int) -> Any:
    """Return something for a result that only training reads."""
    value = m.value[index]
    return op.zeros([size(dim) for dim in value.shape], dtype_name(value.dtype))
