"""Gathering and scattering by indices, random numbers."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.reading import stablehlo
from relax_mlir.frontend.mlir.stablehlo.regions import combiner
from relax_mlir.frontend.registry import converts
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

_SCATTERS = {
    "update": "update", "add": "add", "multiply": "mul", "maximum": "max", "minimum": "min",
}  # fmt: skip


class _Starts:
    """Where windows begin: the indices of an operand's axes, in the shape of the batch.

    Args:
        m: the import.
        indices: the tensor of start indices.
        vector: its axis that holds an index for each axis of `axes`; its rank for none.
        axes: the operand's axes that are indexed.
    """

    def __init__(self, m: Any, indices: Any, vector: int, axes: Sequence[int]) -> None:
        self._m, self._vector = m, vector
        self._indices = m.cast(indices, "int64")
        rank = indices.ty.ndim
        self.batch = [indices.ty.dims[axis] for axis in range(rank) if axis != vector]
        self._columns = {axis: column for column, axis in enumerate(axes)}

    def of(self, axis: int) -> Any:
        """Return the starts along an axis, None where all windows begin at 0."""
        column = self._columns.get(axis)
        if column is None:
            return None
        if self._vector == self._indices.ty.ndim:
            return self._indices
        part = op.strided_slice(
            self._indices, axes=[self._vector], begin=[column], end=[column + 1]
        )
        return self._m.emit(op.squeeze(part, axis=[self._vector]))


def _counted(m: Any, size: SymExpr, place: int, rank: int) -> Any:
    """Return the numbers from 0 along one of some dimensions."""
    wide = [size if axis == place else SymExpr.const(1) for axis in range(rank)]
    return m.emit(op.reshape(op.arange(0, size, 1, dtype="int64"), wide))


def _number(m: Any, size: SymExpr) -> Any:
    """Return a size as a scalar."""
    if size.value is not None:
        return const(size.value, "int64")
    return m.emit(op.reshape(op.shape_to_tensor([size]), ()))


@converts("stablehlo", "gather", "dynamic_gather")
def _gather(m: Any) -> Any:
    numbers = stablehlo().GatherDimensionNumbers(m.op.attributes["dimension_numbers"])
    x, dims = m.x(0), m.dims(0)
    sizes = [SymExpr.of(each) for each in (m.attr("slice_sizes") or m.sizes(2))]
    starts = _Starts(m, m.x(1), numbers.index_vector_dim, numbers.start_index_map)
    collapsed = list(numbers.collapsed_slice_dims)
    batched = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    indexed = [axis for axis in range(len(dims)) if axis in batched or starts.of(axis) is not None]
    offsets = list(numbers.offset_dims)
    kept = [axis for axis in range(len(dims)) if axis not in (*collapsed, *batched)]
    whole = [axis for axis in kept if axis not in indexed and sizes[axis] == dims[axis]]
    parts = [axis for axis in range(len(dims)) if axis not in whole]
    windows = [axis for axis in kept if axis in parts]
    rank = len(starts.batch)
    if len(parts) == 1 and not windows and not batched:
        places = op.minimum(
            op.maximum(starts.of(parts[0]), const(0, "int64")),
            _number(m, dims[parts[0]] - 1),
        )
        made: Any = op.take(x, places, axis=parts[0], mode="clip")
        axes = [*whole[: parts[0]], *["batch"] * rank, *whole[parts[0] :]]
        return _in_order(made, _order(axes, whole, offsets, kept, rank))
    width = rank + len(windows)
    places = []
    for axis in parts:
        at: Any = const(0, "int64")
        start = starts.of(axis)
        if axis in batched:
            place = batched[axis]
            at = _counted(m, dims[axis], place - (place > numbers.index_vector_dim), width)
        elif start is not None:
            top = _number(m, dims[axis] - sizes[axis])
            clamped = op.minimum(op.maximum(start, const(0, "int64")), top)
            at = m.emit(op.reshape(clamped, [*starts.batch, *[1] * len(windows)]))
        if axis in windows:
            inner = _counted(m, sizes[axis], rank + windows.index(axis), width)
            at = m.emit(op.add(at, inner))
        places.append(op.reshape(at, [1] * width) if not at.ty.ndim and width else at)
    moved = x if parts == list(range(len(parts))) else op.permute_dims(x, [*parts, *whole])
    if not parts:
        moved, places = op.expand_dims(x, axis=0), [op.zeros(starts.batch, "int64")]
    made = op.index_tensor(moved, places)
    axes = [*["batch"] * rank, *windows, *whole]
    return _in_order(made, _order(axes, whole, offsets, kept, rank))


def _order(
    axes: Sequence[Any], whole: list[int], offsets: list[int], kept: list[int], rank: int
) -> list[int]:
    """Return for each axis of the result which axis of what was gathered it is."""
    batch = iter([place for place, axis in enumerate(axes) if axis == "batch"])
    window = iter([axes.index(axis) for axis in kept])
    return [next(window) if axis in offsets else next(batch) for axis in range(rank + len(kept))]


def _in_order(x: Any, order: list[int]) -> Any:
    return x if order == list(range(len(order))) else op.permute_dims(x, order)


@converts("stablehlo", "scatter")
def _scatter(m: Any) -> Any:
    numbers = stablehlo().ScatterDimensionNumbers(m.op.attributes["scatter_dimension_numbers"])
    kind = combiner(m.op.regions[0])
    if m.dtype() == "bool":
        kind = {"or": "maximum", "and": "minimum", "add": "maximum"}.get(kind or "", kind)
    if kind not in _SCATTERS or len(m.op.results) != 1:
        raise ExprError("its region is no update, sum, product, maximum or minimum")
    x, updates, dims = m.x(0), m.x(2), m.dims(0)
    starts = _Starts(m, m.x(1), numbers.index_vector_dim, numbers.scattered_dims_to_operand_dims)
    window_axes = list(numbers.update_window_dims)
    batched = dict(
        zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    )
    rank = updates.ty.ndim
    batch_axes = [axis for axis in range(rank) if axis not in window_axes]
    kept = [a for a in range(len(dims)) if a not in (*numbers.inserted_window_dims, *batched)]
    inside = op.full(list(updates.ty.dims), const(True, "bool"), "bool")
    columns = []
    for axis, dim in enumerate(dims):
        at: Any = const(0, "int64")
        start = starts.of(axis)
        if axis in batched:
            place = batched[axis]
            at = _counted(m, dim, batch_axes[place - (place > numbers.index_vector_dim)], rank)
        elif start is not None:
            at = m.emit(op.reshape(start, _wide(starts.batch, batch_axes, rank)))
            size = updates.ty.dims[window_axes[kept.index(axis)]] if axis in kept else SymExpr.of(1)
            fits = op.logical_and(
                op.greater_equal(at, const(0, "int64")),
                op.less_equal(at, _number(m, dim - size)),
            )
            inside = m.emit(op.logical_and(inside, fits))
        if axis in kept:
            place = window_axes[kept.index(axis)]
            at = m.emit(op.add(at, _counted(m, updates.ty.dims[place], place, rank)))
        columns.append(at)
    return _scattered(m, x, columns, inside, updates, _SCATTERS[kind])


def _wide(batch: Sequence[SymExpr], axes: list[int], rank: int) -> list[SymExpr]:
    wide = [SymExpr.const(1)] * rank
    for axis, dim in zip(axes, batch, strict=True):
        wide[axis] = dim
    return wide


def _scattered(
    m: Any, x: Any, columns: Sequence[Any], inside: Any, updates: Any, reduction: str
) -> Any:
    """Scatter element by element; a window that is not inside as a whole changes nothing.

    What changes nothing is written to a place of its own behind all elements.
    """
    dims, shape = list(x.ty.dims), list(updates.ty.dims)
    total = m.emit(op.reshape(x, (-1,)))
    flat: Any = const(0, "int64")
    for dim, column in zip(dims, columns, strict=True):
        flat = op.add(op.multiply(flat, _number(m, dim)), column)
    last = _number(m, total.ty.dims[0])
    flat = op.where(inside, op.broadcast_to(flat, shape), last)
    numbers = total.ty.dtype == "bool"
    if numbers:
        total, updates = m.cast(total, "int8"), m.cast(updates, "int8")
    spare = op.concat([total, op.zeros((1,), total.ty.dtype)], axis=0)
    written = op.scatter_elements(
        spare, op.reshape(flat, (-1,)), op.reshape(updates, (-1,)), axis=0, reduction=reduction
    )
    kept = op.strided_slice(m.emit(written), axes=[0], begin=[0], end=[total.ty.dims[0]])
    made = op.reshape(kept, dims)
    return m.cast(made, "bool") if numbers else made
