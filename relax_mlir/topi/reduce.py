"""Reductions over axes."""

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import arithmetic, conversion, functions
from relax_mlir.tir.scalar import reduction as te
from relax_mlir.tir.scalar.axes import Dim, IterVar
from relax_mlir.tir.scalar.conversion import const
from relax_mlir.tir.scalar.dtypes import highest, is_float
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.blocks import reshaped
from relax_mlir.topi.broadcast import FUNCTIONS as FUNCTIONS_OF_TWO
from relax_mlir.topi.support import axes_of, narrowed, same, shape_of, size, tensor, wide_of

_REDUCERS = {"sum": te.sum, "prod": te.prod, "max": te.max, "min": te.min, "all": te._all,
             "any": te._any}  # fmt: skip
# On bools these are what they are on numbers 0 and 1, as numpy has it.
_OF_BOOLS = {"sum": te._any, "prod": te._all, "max": te._any, "min": te._all}


def reduced(
    shape: tuple[Dim, ...], axes: list[int], keepdims: bool
) -> tuple[list[Dim], list[IterVar], Callable[..., tuple[Any, ...]]]:
    """Return the shape that is left, axes to reduce over, and how indices lie in the source."""
    over = {axis: te.reduce_axis((0, shape[axis]), f"k{axis}") for axis in axes}
    left = [1 if i in over else dim for i, dim in enumerate(shape) if keepdims or i not in over]

    def place(indices: Any, rest: Any = None) -> tuple[Any, ...]:
        own = iter([x for i, x in enumerate(indices) if i not in over] if keepdims else indices)
        inner = over if rest is None else dict(zip(axes, rest, strict=True))
        return tuple(inner[i] if i in over else next(own) for i in range(len(shape)))

    return left, [over[axis] for axis in axes], place


def _reduction(name: str) -> Callable[..., Tensor]:
    def function(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
        source = tensor(data, name)
        shape, over, place = reduced(source.shape, axes_of(axis, source.ndim, name), keepdims)
        logical = name in ("all", "any")
        wide = "bool" if logical else wide_of(source.dtype)
        reducer = _OF_BOOLS.get(name, _REDUCERS[name]) if wide == "bool" else _REDUCERS[name]

        def element(*indices: Any) -> PrimExpr:
            value = source[place(indices)]
            if logical and value.dtype != "bool":
                value = conversion.as_expr(value != 0)
            return reducer(conversion.cast(value, wide), axis=over)

        made = compute(shape, element, name=f"T_{name}")
        return narrowed(made, "bool" if logical else source.dtype, "T_cast")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name} of elements over axes, by default all of them."
    return function


FUNCTIONS: dict[str, Callable[..., Tensor]] = {name: _reduction(name) for name in _REDUCERS}


def mean(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean of floating-point elements over axes, by default all of them."""
    source = tensor(data, "mean")
    wide = wide_of(source.dtype)
    count = size([source.shape[i] for i in axes_of(axis, source.ndim, "mean")])
    widened = narrowed(source, wide, "T_wide")
    total = FUNCTIONS["sum"](widened, axis, keepdims)
    return compute(
        total.shape,
        lambda *i: conversion.cast(total[i] / conversion.cast(count, wide), source.dtype),
        name="T_mean",
    )


def variance(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean square distance of floating-point elements from their mean, over axes."""
    wide = narrowed(tensor(data, "variance"), wide_of(data.dtype), "T_wide")
    deviation = FUNCTIONS_OF_TWO["subtract"](wide, mean(wide, axis, keepdims=True))
    return narrowed(
        mean(FUNCTIONS_OF_TWO["multiply"](deviation, deviation), axis, keepdims),
        data.dtype,
        "T_cast",
    )


def std(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the standard deviation of floating-point elements over axes."""
    result = variance(data, axis, keepdims)
    return compute(result.shape, lambda *i: functions.UNARY["sqrt"](result[i]), name="T_std")


def collapse_sum(data: Tensor, target_shape: Any) -> Tensor:
    """Return the sums over what a shape would be broadcast along to that of a tensor.

    Raises:
        ExprError: the shape does not broadcast to the tensor's.
    """
    source = tensor(data, "collapse_sum")
    dims = shape_of(target_shape, "collapse_sum")
    skip = source.ndim - len(dims)
    if skip < 0:
        raise ExprError(f"topi.collapse_sum: {data} does not collapse to {list(dims)}")
    over = list(range(skip))
    for axis, dim in enumerate(dims, skip):
        if same(dim, source.shape[axis]):
            continue
        if not same(dim, 1):
            raise ExprError(f"topi.collapse_sum: {data} does not collapse to {list(dims)}")
        over.append(axis)
    if not over:
        return source
    wide = wide_of(source.dtype)
    summed = FUNCTIONS["sum"](narrowed(source, wide, "T_wide"), over, True)
    return narrowed(reshaped("T_collapse", summed, dims), source.dtype, "T_cast")


def _arg(name: str, kind: str) -> Callable[..., Tensor]:
    def function(
        data: Tensor, axis: int | None = None, keepdims: bool = False,
        select_last_index: bool = False,
    ) -> Tensor:  # fmt: skip
        source = tensor(data, name)
        axes = axes_of(axis, source.ndim, name)
        shape, over, place = reduced(source.shape, axes, keepdims)
        # Two reductions of one value each are faster than one of a value and its place.
        best = FUNCTIONS[kind](source, axes, keepdims)
        nowhere = const(highest("int32"), "int32")

        def locate(*indices: Any) -> Any:
            at: Any = const(0, "int64")
            for each, i in zip(over, axes, strict=True):
                at = at * source.shape[i] + each
            at = conversion.cast(at, "int32")
            value = source[place(indices)]
            is_best = arithmetic.binary("eq", value, best[indices])
            # Of equal ones the last is the least of these.
            here = Select(is_best, -1 - at if select_last_index else at, nowhere)
            if is_float(source.dtype):
                # NaN is best, and equals nothing; of several it is the first.
                here = Select(value != value, at, here)
            return te.min(here, axis=over)

        first = compute(shape, locate, name=f"T_{name}_first")

        def finish(*indices: Any) -> PrimExpr:
            at = first[indices]
            at = Select(at == nowhere, const(-1, "int32"), at)
            return Select(first[indices] < 0, -1 - at, at) if select_last_index else at

        return compute(shape, finish, name=f"T_{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return where the {name[3:]} is along an axis, or in all, as int32.

    The first place, or with `select_last_index` the last one; a NaN counts as it.
    """
    return function


FUNCTIONS |= {"argmax": _arg("argmax", "max"), "argmin": _arg("argmin", "min")}
