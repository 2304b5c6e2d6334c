"""Scatter: writing elements at indices."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import extern
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import ir_builder
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.topi.index import from_end, integer_indices
from relax_mlir.topi.support import axis_of, tensor

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": lambda old, new: binary("min", old, new),
    "max": lambda old, new: binary("max", old, new),
}


def loops(
    ib: Any, extents: Sequence[Any], inner: Callable[[tuple[Any, ...]], None],
    at: tuple[Any, ...] = (),
) -> None:  # fmt: skip
    """Write a loop for each extent, and what is inside of them all."""
    if len(at) == len(extents):
        inner(at)
        return
    with ib.for_range(0, extents[len(at)], f"i{len(at)}") as i:
        loops(ib, extents, inner, (*at, i))


def _combiner(reduction: str, where: str) -> Callable[[Any, Any], Any]:
    if reduction not in _COMBINE:
        raise ExprError(
            f"topi.{where}: reduction is one of {', '.join(_COMBINE)}, got '{reduction}'"
        )
    return _COMBINE[reduction]


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """Return a tensor with updates at the index given for each along an axis.

    Args:
        data: what there was.
        indices: integers, of the shape of `updates`; they may count from the end.
        updates: what goes there, in row-major order where places are the same.
        axis: which index is replaced.
        reduction: how it meets what there was: update, add, mul, min or max.

    Raises:
        ExprError: numbers of dimensions differ, or there is no such axis or reduction.
        ExprTypeError: the indices are no integers.
    """
    places = integer_indices(indices, "scatter_elements")
    along = axis_of(axis, tensor(data, "scatter_elements").ndim, "scatter_elements")
    combine = _combiner(reduction, "scatter_elements")
    if not places.ndim == updates.ndim == data.ndim:
        raise ExprError(
            f"topi.scatter_elements: data has {data.ndim} dimensions, the indices {places.ndim}, "
            f"the updates {updates.ndim}"
        )

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (x, index, new), out = ins, outs[0]

        def copy(at: tuple[Any, ...]) -> None:
            out[at] = x[at]

        def put(at: tuple[Any, ...]) -> None:
            place = ib.let("place", from_end(index[at], data.shape[along]))
            where = (*at[:along], place, *at[along + 1 :])
            out[where] = combine(out[where], new[at])

        loops(ib, data.shape, copy)
        loops(ib, updates.shape, put)

    return extern(data.shape, [data, places, updates], write, "T_scatter_elements", data.dtype)


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Return a tensor with updates at places whose indices stand in the columns of a tensor.

    Args:
        data: what there was.
        indices: integers; the first dimension counts the indices of one place.
        updates: what goes there: a place for each column, then what is left of `data`.
        mode: how it meets what there was: update, add, mul, min or max.

    Raises:
        ExprError: how many indices a place has is not known, or the shapes do not fit.
        ExprTypeError: the indices are no integers.
    """
    places = integer_indices(indices, "scatter_nd")
    combine = _combiner(mode, "scatter_nd")
    depth = places.shape[0] if places.ndim else None
    if not isinstance(depth, int) or depth > tensor(data, "scatter_nd").ndim:
        raise ExprError(
            f"topi.scatter_nd: dimension 0 of the indices must be a number of at most {data.ndim}, "
            f"got {depth}"
        )
    if updates.ndim != places.ndim - 1 + data.ndim - depth:
        raise ExprError(f"topi.scatter_nd: updates of {updates.ndim} dimensions do not fit")
    columns = places.ndim - 1

    def write(ins: list[Any], outs: list[Any]) -> None:
        ib = ir_builder.create()
        (x, index, new), out = ins, outs[0]

        def copy(at: tuple[Any, ...]) -> None:
            out[at] = x[at]

        def put(at: tuple[Any, ...]) -> None:
            target = [
                ib.let("place", from_end(index[(k, *at[:columns])], data.shape[k]))
                for k in range(depth)
            ]
            where = (*target, *at[columns:])
            out[where] = combine(out[where], new[at])

        loops(ib, data.shape, copy)
        loops(ib, updates.shape, put)

    return extern(data.shape, [data, places, updates], write, "T_scatter_nd", data.dtype)
