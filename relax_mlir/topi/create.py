"""Tensor creation."""

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import conversion
from relax_mlir.tir.scalar.axes import plain
from relax_mlir.tir.scalar.dtypes import checked
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.topi.support import axis_of, scalar, shape_of, tensor


def full(shape: Any, dtype: Any, fill_value: Any) -> Tensor:
    """Return a tensor of one number."""
    value = scalar(fill_value, checked(dtype))
    return compute(shape_of(shape, "full"), lambda *i: value, name="T_full")


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """Return a tensor of one number, of a tensor's shape and dtype."""
    return full(tensor(x, "full_like").shape, x.dtype, fill_value)


def zeros(shape: Any, dtype: Any = "float32") -> Tensor:
    """Return a tensor of zeros."""
    return full(shape, dtype, 0)


def ones(shape: Any, dtype: Any = "float32") -> Tensor:
    """Return a tensor of ones."""
    return full(shape, dtype, 1)


def zeros_like(x: Tensor) -> Tensor:
    """Return zeros, of a tensor's shape and dtype."""
    return full_like(x, 0)


def ones_like(x: Tensor) -> Tensor:
    """Return ones, of a tensor's shape and dtype."""
    return full_like(x, 1)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "float32") -> Tensor:
    """Return numbers at equal distances, from `start`, or 0, to before `stop`.

    Raises:
        ExprError: the step is 0, or a fraction where the bounds are symbolic.
    """
    first, last = (0, start) if stop is None else (start, stop)
    dtype = checked(dtype)
    if any(isinstance(x, SymExpr) for x in (first, last, step)):
        if any(isinstance(x, float) for x in (first, last, step)):
            raise ExprError("topi.arange takes integers where a bound is symbolic")
        by = SymExpr.of(step)
        if by == 0:
            raise ExprError("topi.arange needs a step other than 0")
        count: Any = plain((SymExpr.of(last) - first).ceildiv(by).max(0))
    else:
        if step == 0:
            raise ExprError("topi.arange needs a step other than 0")
        count = max(0, math.ceil((last - first) / step))
    return compute(
        (count,),
        lambda i: scalar(first, dtype) + conversion.cast(i, dtype) * scalar(step, dtype),
        name="T_arange",
    )


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:
    """Return the upper or the lower triangle of matrices, zeros elsewhere.

    Args:
        data: at least two-dimensional.
        k: which diagonal is the last one in it.
        upper: which triangle.

    Raises:
        ExprError: there are fewer than two dimensions.
    """
    if tensor(data, "trilu").ndim < 2:
        raise ExprError(f"topi.trilu takes matrices, got {data.ndim} dimensions")

    def element(*i: Any) -> Any:
        inside = i[-1] - i[-2] >= k if upper else i[-1] - i[-2] <= k
        return Select(inside, data[i], scalar(0, data.dtype))

    return compute(data.shape, element, name="T_trilu")


def triu(data: Tensor, k: Any = 0) -> Tensor:
    """Return the upper triangle of matrices."""
    return trilu(data, k, True)


def tril(data: Tensor, k: Any = 0) -> Tensor:
    """Return the lower triangle of matrices."""
    return trilu(data, k, False)


def eye(n: Any, m: Any = None, k: Any = 0, dtype: Any = "float32") -> Tensor:
    """Return a matrix of ones on the `k`-th diagonal and zeros elsewhere."""
    shape = shape_of([n, n if m is None else m], "eye")
    one, zero = scalar(1, checked(dtype)), scalar(0, checked(dtype))
    return compute(shape, lambda i, j: Select(j - i == k, one, zero), name="T_eye")


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Return the coordinates of a grid, of vectors, as one tensor for each.

    Args:
        a_tuple: vectors, or scalars.
        indexing: `ij`, or `xy` with the first two dimensions the other way round.

    Raises:
        ExprError: there is no such indexing, or a tensor has more dimensions.
    """
    if indexing not in ("ij", "xy") or any(tensor(x, "meshgrid").ndim > 1 for x in a_tuple):
        raise ExprError("topi.meshgrid takes vectors, and indexing 'ij' or 'xy'")
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = [a_tuple[p].shape[0] if a_tuple[p].ndim else 1 for p in order]

    def grid(position: int, x: Tensor) -> Tensor:
        along = order.index(position)
        return compute(shape, lambda *i: x[i[along]] if x.ndim else x[()], name="T_meshgrid")

    return [grid(position, x) for position, x in enumerate(a_tuple)]


def one_hot(
    indices: Tensor, on_value: Any, off_value: Any, depth: Any, axis: int, dtype: Any
) -> Tensor:
    """Return `on_value` along a new axis where an index says so, `off_value` elsewhere."""
    ndim = tensor(indices, "one_hot").ndim + 1
    axis, dtype = axis_of(axis, ndim, "one_hot"), checked(dtype)
    (depth,) = shape_of(depth, "one_hot")
    shape = [*indices.shape[:axis], depth, *indices.shape[axis:]]

    def element(*i: Any) -> Any:
        own = indices[(*i[:axis], *i[axis + 1 :])]
        return Select(own == i[axis], scalar(on_value, dtype), scalar(off_value, dtype))

    return compute(shape, element, name="T_one_hot")
