"""Gather: reading elements at indices."""

from typing import Any

from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import conversion
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.axes import Dim
from relax_mlir.tir.scalar.dtypes import SIZE, is_float
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.manipulate import flatten
from relax_mlir.topi.support import axis_of, tensor

_MODES = ("clip", "wrap", "fast")


def integer_indices(value: Tensor, where: str) -> Tensor:
    """Return a tensor that must hold integers.

    Raises:
        ExprTypeError: it holds something else.
    """
    if is_float(tensor(value, where).dtype) or value.dtype == "bool":
        raise ExprTypeError(f"topi.{where} takes integer indices, got {value.dtype}")
    return value


def _within(index: PrimExpr, dim: Dim, mode: str) -> PrimExpr:
    """Return an index that is inside of a dimension whatever it was."""
    place = conversion.cast(index, SIZE)
    if mode == "wrap":
        return place % dim
    return binary("max", binary("min", place, dim - 1), 0)


def from_end(index: PrimExpr, dim: Dim) -> PrimExpr:
    """Return an index that may count from the end, inside of a dimension whatever it was."""
    place = conversion.cast(index, SIZE)
    return _within(Select(place < 0, place + dim, place), dim, "clip")


def take(
    a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Tensor:
    """Return elements along an axis, or of all of them in a row, from where indices say.

    Args:
        a: the tensor.
        indices: integers of any shape.
        axis: which axis; None takes from all elements in row-major order.
        batch_dims: so many leading dimensions are common to both.
        mode: what is outside: `clip` (and `fast`) takes the nearest, `wrap` counts on.

    Raises:
        ExprError: there is no such axis or mode.
        ExprTypeError: the indices are no integers.
    """
    if mode not in _MODES:
        raise ExprError(f"topi.take: mode is one of {', '.join(_MODES)}, got '{mode}'")
    at = integer_indices(indices, "take")
    if axis is None:
        a, axis = flatten(tensor(a, "take")), 0
    axis = axis_of(axis, tensor(a, "take").ndim, "take")
    if not 0 <= batch_dims <= min(axis, at.ndim):
        raise ExprError(f"topi.take: batch_dims {batch_dims} is not within axis {axis}")
    inner = at.shape[batch_dims:]
    shape = [*a.shape[:axis], *inner, *a.shape[axis + 1 :]]

    def element(*i: Any) -> PrimExpr:
        where = at[(*i[:batch_dims], *i[axis : axis + len(inner)])]
        place = _within(where, a.shape[axis], mode)
        return a[(*i[:axis], place, *i[axis + len(inner) :])]

    return compute(shape, element, name="T_take")


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Return for each index the element at it along an axis, all other indices its own.

    Raises:
        ExprError: the numbers of dimensions differ.
        ExprTypeError: the indices are no integers.
    """
    at = integer_indices(indices, "gather")
    axis = axis_of(axis, tensor(data, "gather").ndim, "gather")
    if at.ndim != data.ndim:
        raise ExprError(f"topi.gather: data has {data.ndim} dimensions, the indices {at.ndim}")
    return compute(
        at.shape,
        lambda *i: data[tuple(
            from_end(at[i], data.shape[axis]) if p == axis else x for p, x in enumerate(i)
        )],
        name="T_gather",
    )  # fmt: skip


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Return elements at places whose indices stand in the columns of a tensor.

    Args:
        a: the tensor.
        indices: integers; the first dimension after the batch counts the indices of one place.
        batch_dims: so many leading dimensions are common to both.

    Raises:
        ExprError: how many indices a place has is not known, or is too many.
        ExprTypeError: the indices are no integers.
    """
    at = integer_indices(indices, "gather_nd")
    depth = at.shape[batch_dims] if at.ndim > batch_dims else None
    if not isinstance(depth, int) or depth + batch_dims > tensor(a, "gather_nd").ndim:
        raise ExprError(
            f"topi.gather_nd: dimension {batch_dims} of the indices must be a number of at most "
            f"{a.ndim - batch_dims}, got {depth}"
        )
    places = at.shape[batch_dims + 1 :]
    shape = [*a.shape[:batch_dims], *places, *a.shape[batch_dims + depth :]]
    middle = batch_dims + len(places)

    def element(*i: Any) -> PrimExpr:
        result = [
            from_end(at[(*i[:batch_dims], k, *i[batch_dims:middle])], a.shape[batch_dims + k])
            for k in range(depth)
        ]
        return a[(*i[:batch_dims], *result, *i[middle:])]

    return compute(shape, element, name="T_gather_nd")


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: Any = 0, axis: int = 0) -> Tensor:
    """Return sequences with a number in the place of what is beyond their lengths.

    Args:
        data: of at least two dimensions, sequences along axis 0 or 1, the batch along the other.
        valid_length: a length for each sequence.
        mask_value: the number.
        axis: along which the sequences run.

    Raises:
        ExprError: the axis is neither.
    """
    if axis not in (0, 1) or tensor(data, "sequence_mask").ndim < 2:
        raise ExprError("topi.sequence_mask takes axis 0 or 1 of two dimensions or more")
    fill = conversion.cast(conversion.as_expr(mask_value, data.dtype), data.dtype)
    return compute(
        data.shape,
        lambda *i: Select(i[axis] < valid_length[i[1 - axis]], data[i], fill),
        name="T_sequence_mask",
    )
