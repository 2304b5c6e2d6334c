"""Helpers of topi: axes, broadcasting, accumulation dtypes."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.axes import Dim, dims_of, plain
from relax_mlir.tir.scalar.conversion import as_expr, cast
from relax_mlir.tir.scalar.prim_expr import PrimExpr


def tensor(value: Any, where: str) -> Tensor:
    """Return a value that must be a tensor.

    Raises:
        ExprTypeError: it is none.
    """
    if not isinstance(value, Tensor):
        raise ExprTypeError(f"topi.{where} takes a te.Tensor, got {value!r}")
    return value


def shape_of(shape: Any, where: str) -> tuple[Dim, ...]:
    """Return a shape given as one size or several."""
    return dims_of(shape, f"topi.{where}")


def axis_of(axis: Any, ndim: int, where: str) -> int:
    """Return an axis counted from the first.

    Raises:
        ExprError: there is none of that number.
    """
    if isinstance(axis, np.integer):
        axis = int(axis)
    if not isinstance(axis, int) or not -ndim <= axis < ndim:
        raise ExprError(f"topi.{where}: axis {axis} is none of a tensor of {ndim} dimensions")
    return axis % ndim


def axes_of(axis: Any, ndim: int, where: str) -> list[int]:
    """Return axes in order; None means all.

    Raises:
        ExprError: there is none of that number, or one is given twice.
    """
    if axis is None:
        return list(range(ndim))
    items = axis if isinstance(axis, (list, tuple)) else [axis]
    axes = sorted(axis_of(item, ndim, where) for item in items)
    if len(set(axes)) < len(axes):
        raise ExprError(f"topi.{where}: an axis is given twice in {axis}")
    return axes


def same(a: Dim, b: Dim) -> bool:
    """Whether two sizes are certainly equal."""
    return bool(SymExpr.of(a) == SymExpr.of(b))


def size(dims: Sequence[Dim]) -> Dim:
    """Return the product of sizes."""
    total = SymExpr.const(1)
    for dim in dims:
        total = total * dim
    return plain(total)


def broadcast_shape(shapes: Sequence[Sequence[Dim]], where: str) -> tuple[Dim, ...]:
    """Return the shape that shapes broadcast to.

    Raises:
        ExprError: they do not, or it is not known whether they do.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for offset, dim in enumerate(shape, rank - len(shape)):
            if same(dim, result[offset]) or same(dim, 1):
                continue
            if not same(result[offset], 1):
                raise ExprError(
                    f"topi.{where}: dimensions {result[offset]} and {dim} do not broadcast; if "
                    "they are equal at run time, say so by match_cast"
                )
            result[offset] = dim
    return tuple(result)


def at(source: Tensor, shape: Sequence[Dim], indices: Sequence[Any]) -> PrimExpr:
    """Return the element of a tensor at a place of the shape that it broadcasts to."""
    skip = len(shape) - source.ndim
    return source[tuple(
        0 if same(dim, 1) and not same(shape[i], 1) else indices[i]
        for i, dim in enumerate(source.shape, skip)
    )]  # fmt: skip


def wide_of(dtype: str) -> str:
    """Return the dtype to add up numbers of a dtype in."""
    return ACCUMULATE.get(dtype, dtype)


def narrowed(made: Tensor, dtype: str, name: str) -> Tensor:
    """Return a tensor converted to a dtype, itself where it has that."""
    if made.dtype == dtype:
        return made
    return compute(made.shape, lambda *i: cast(made[i], dtype), name=name)


def spelled(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """Return a function under other names of its parameters, in their order.

    Args:
        function: the function.
        names: from its names to the others.
    """
    signature = inspect.signature(function)
    shown = signature.replace(
        parameters=[
            each.replace(name=names.get(each.name, each.name))
            for each in signature.parameters.values()
        ]
    )

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        bound = shown.bind(*args, **kwargs)
        own = dict(zip(shown.parameters, signature.parameters, strict=True))
        return function(**{own[name]: value for name, value in bound.arguments.items()})

    vars(apply)["__signature__"] = shown
    return apply


def scalar(value: Any, dtype: str) -> PrimExpr:
    """Return a number of a dtype."""
    return cast(as_expr(value, dtype), dtype)
