"""Reductions: reduce axes, sum, max, and custom combiners."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.axes import IterVar
from relax_mlir.tir.scalar.conversion import as_expr, cast, condition, const
from relax_mlir.tir.scalar.dtypes import highest, is_float, lowest
from relax_mlir.tir.scalar.nodes import Reduce, Select
from relax_mlir.tir.scalar.prim_expr import Leaf, PrimExpr


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: Any = None) -> IterVar:
    """Return an axis to reduce over, from the first number of a pair up to the second.

    Args:
        dom: the pair.
        name: of its variable.
        thread_tag: as in TVM, of no consequence here.
        span: as in TVM, of no consequence here.

    Raises:
        ExprTypeError: `dom` is no pair of sizes.
    """
    ranged = not isinstance(dom, (list, tuple))
    given = [getattr(dom, "min", None), getattr(dom, "extent", None)] if ranged else list(dom)
    sizes = [size for size in map(size_of, given) if size is not None]
    if len(given) != 2 or len(sizes) != 2:
        raise ExprTypeError(f"te.reduce_axis takes a pair such as (0, n), got {dom!r}")
    start = sizes[0]
    stop = start + sizes[1] if ranged else sizes[1]
    extent = (stop - start).value
    if extent is not None and extent < 0:
        raise ExprError(f"reduce axis '{name}' goes from {start} to {stop}")
    return IterVar((start, stop - start), name, "reduction")


@dataclass(frozen=True, eq=False)
class Combiner:
    """How two partial results become one.

    Attributes:
        combine: from two of them, given as lists where there are several values.
        identity: from a dtype, or several, what changes no result.
        name: for messages.
    """

    combine: Callable[..., Any]
    identity: Callable[..., Any]
    name: str


@dataclass(eq=False)
class Reduction:
    """A reduction: what all its values have in common.

    Attributes:
        combiner: how results are combined.
        source: what is reduced, an expression for each value.
        axis: over which axes.
        where: only where this holds, or None.
        identity: what changes no result.
        init: what it begins with.
        lhs: names of a partial result.
        rhs: names of what is added to it.
        result: their combination.
    """

    combiner: Combiner
    source: list[PrimExpr]
    axis: list[IterVar]
    where: PrimExpr | None
    identity: list[PrimExpr]
    init: list[PrimExpr]
    lhs: list[Leaf] = field(default_factory=list)
    rhs: list[Leaf] = field(default_factory=list)
    result: list[PrimExpr] = field(default_factory=list)

    @property
    def parts(self) -> tuple[PrimExpr, ...]:
        """The expressions inside of it."""
        where = () if self.where is None else (self.where,)
        return (*self.source, *where, *self.init, *self.result)


Reducer = Callable[..., Any]


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """Return a function that reduces with a commutative combiner.

    ```
    argmax = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
    )
    te.compute((n,), lambda i: argmax((k, A[i, k]), axis=k))
    ```

    Args:
        fcombine: from two partial results the next one; of a tuple, from two lists a tuple.
        fidentity: from a dtype, or several, the value that changes no result.
        name: of the reduction.
    """
    combiner = Combiner(fcombine, fidentity, name)

    def over(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any) -> Any:
        if isinstance(axis, (IterVar, list, tuple)):
            return _reduce(combiner, expr, axis, where, init)
        rest = [each for each in (axis, where, init, *args) if each is not None]
        if not rest:
            raise ExprError(f"'{name}' needs the axes to reduce over, or other operands")
        result = expr
        for each in rest:
            result = fcombine(result, each)
        return result

    @functools.wraps(over)
    def reducer(*args: Any, **given: Any) -> Any:
        # By position it may be another operand, as in te.max(x, 0).
        axis = given.get("axis")
        if axis is not None and not isinstance(axis, (IterVar, list, tuple)):
            raise ExprTypeError(
                f"'{name}' reduces over axes made by te.reduce_axis, got axis={axis!r}"
            )
        return over(*args, **given)

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"Reduce by {name} over axes, or combine two values and more."
    return reducer


def _reduce(combiner: Combiner, expr: Any, axis: Any, where: Any, init: Any) -> Any:
    axes = [axis] if isinstance(axis, IterVar) else list(axis)
    for each in axes:
        if not isinstance(each, IterVar) or each.iter_type != "reduction":
            raise ExprTypeError(
                f"'{combiner.name}' reduces over axes made by te.reduce_axis, got {each!r}"
            )
    if len({id(each) for each in axes}) < len(axes):
        raise ExprError(f"'{combiner.name}' reduces over one axis twice")
    several = isinstance(expr, (list, tuple))
    source = [as_expr(each) for each in (expr if several else [expr])]
    test = None if where is None else condition(where, f"where= of '{combiner.name}'")
    if not axes:
        return tuple(source) if several else source[0]
    kinds = [each.dtype for each in source]
    identity = _values(_called(combiner, combiner.identity, kinds), kinds, combiner)
    start = identity if init is None else _values(init, kinds, combiner)
    lhs, rhs = ([Leaf(f"{side}{i}", kind) for i, kind in enumerate(kinds)] for side in "xy")
    sides = [lhs, rhs] if several else [lhs[0], rhs[0]]
    made = _called(combiner, combiner.combine, sides)
    result = _values(made, kinds, combiner)
    reduction = Reduction(combiner, source, axes, test, identity, start, lhs, rhs, result)
    values = tuple(Reduce(reduction, i) for i in range(len(source)))
    return values if several else values[0]


def _called(combiner: Combiner, function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Call a part of a combiner, whose own mistakes are about what is reduced."""
    try:
        return function(*given)
    except ExprError:
        raise
    except (TypeError, IndexError) as error:
        raise ExprTypeError(
            f"'{combiner.name}' cannot reduce this: {error}; several values are reduced as a "
            "tuple, as in te.argmax((k, A[i, k]), axis=k), and a combiner takes two partial results"
        ) from error


def _values(given: Any, kinds: Sequence[str], combiner: Combiner) -> list[PrimExpr]:
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(items) != len(kinds):
        raise ExprError(
            f"'{combiner.name}' reduces {len(kinds)} values, its combiner gives {len(items)}"
        )
    return [cast(as_expr(item, kind), kind) for item, kind in zip(items, kinds, strict=True)]


sum: Reducer = comm_reducer(lambda x, y: x + y, lambda dtype: const(0, dtype), "sum")
prod: Reducer = comm_reducer(lambda x, y: x * y, lambda dtype: const(1, dtype), "prod")
max: Reducer = comm_reducer(functions.max, lambda dtype: const(lowest(dtype), dtype), "max")
min: Reducer = comm_reducer(functions.min, lambda dtype: const(highest(dtype), dtype), "min")
_all = comm_reducer(functions.all, lambda dtype: const(True, dtype), "all")
_any = comm_reducer(functions.any, lambda dtype: const(False, dtype), "any")


def _better(kind: str) -> Callable[..., Any]:
    """Return the combiner of pairs of index and value that keeps the first of the best."""

    def combine(x: Sequence[PrimExpr], y: Sequence[PrimExpr]) -> tuple[Any, ...]:
        first = x[1] > y[1] if kind == "max" else x[1] < y[1]
        # NaN is better than anything, as numpy has it.
        if is_float(x[1].dtype):
            first = functions.any(first, functions.all(x[1] != x[1], y[1] == y[1]))
            same = functions.any(x[1] == y[1], functions.all(x[1] != x[1], y[1] != y[1]))
        else:
            same = x[1] == y[1]
        kept = functions.any(first, functions.all(same, x[0] < y[0]))
        return tuple(Select(kept, mine, other) for mine, other in zip(x, y, strict=True))

    return combine


argmax: Reducer = comm_reducer(
    _better("max"), lambda i, v: (const(highest(i), i), const(lowest(v), v)), "argmax"
)
argmin: Reducer = comm_reducer(
    _better("min"), lambda i, v: (const(highest(i), i), const(highest(v), v)), "argmin"
)


def all(*args: Any, axis: Any = None, where: Any = None) -> Any:
    """Return whether all conditions hold; with `axis`, whether one does everywhere along it."""
    return functions.all(*args) if axis is None else _all(*args, axis=axis, where=where)


def any(*args: Any, axis: Any = None, where: Any = None) -> Any:
    """Return whether one of the conditions holds; with `axis`, whether one does somewhere."""
    return functions.any(*args) if axis is None else _any(*args, axis=axis, where=where)
