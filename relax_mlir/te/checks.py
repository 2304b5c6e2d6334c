"""What the body of a stage must be: of its own axes, reductions outermost, within its tensors."""

from collections.abc import Iterator, Sequence

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.tir.scalar import nodes as N
from relax_mlir.tir.scalar.axes import IterVar
from relax_mlir.tir.scalar.nodes import nodes_of
from relax_mlir.tir.scalar.prim_expr import IntImm, Leaf, PrimExpr, Size


def check_body(
    name: str, axis: Sequence[IterVar], body: Sequence[PrimExpr], steps: bool = False
) -> None:
    """Check the expressions of a stage.

    Args:
        name: of the stage.
        axis: its axes.
        body: its expressions.
        steps: whether it may be part of a scan, where the step before the first one is not
            computed.

    Raises:
        ExprError: a reduction inside of another expression, an axis of another stage, outputs of
            different reductions, or an access that is certainly outside of its tensor.
    """
    reductions = [expr.reduction for expr in body if isinstance(expr, N.Reduce)]
    if reductions and (len(reductions) < len(body) or any(r is not reductions[0]
                                                         for r in reductions)):  # fmt: skip
        raise ExprError(
            f"the outputs of te.compute '{name}' must all be values of one reduction, or none"
        )
    allowed = {id(each) for each in axis}
    inner: list[PrimExpr] = list(body)
    if reductions:
        reduction = reductions[0]
        allowed |= {id(each) for each in (*reduction.axis, *reduction.lhs, *reduction.rhs)}
        inner = list(reduction.parts)
    for node in nodes_of(inner):
        if isinstance(node, N.Reduce):
            raise ExprError(
                f"te.compute '{name}' has a reduction inside of another expression; give the "
                f"reduction a te.compute of its own: {node!r}"
            )
        if isinstance(node, Leaf) and id(node) not in allowed:
            what = "reduced over by no reduction" if _reduces(node) else "an axis of another stage"
            raise ExprError(f"in te.compute '{name}', '{node.name}' is {what}")
    where = reductions[0].where if reductions else None
    # A reduction's condition guards what it reduces.
    _check_accesses(name, inner if where is None else [where], axis[:1] if steps else ())


def _reduces(node: Leaf) -> bool:
    return isinstance(node, IterVar) and node.iter_type == "reduction"


def _check_accesses(name: str, roots: Sequence[PrimExpr], steps: Sequence[IterVar]) -> None:
    """Reject accesses that no condition guards and that leave a tensor whatever the sizes are.

    Of the axes `steps`, as first indices, steps before may be read.
    """
    pending, seen = list(roots), set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        # What a condition guards may be as it likes elsewhere.
        guarded = isinstance(node, N.IfThenElse)
        pending += node.operands[:1] if guarded else node.operands
        if isinstance(node, N.ProducerLoad):
            for position, (index, dim) in enumerate(
                zip(node.indices, node.producer.shape, strict=True)
            ):
                if position == 0 and _is_step_before(index, steps):
                    continue
                _check_index(name, node, position, index, SymExpr.of(dim))


def _is_step_before(index: PrimExpr, steps: Sequence[IterVar]) -> bool:
    return isinstance(index, N.Sub) and any(index.a is each for each in steps)


def _check_index(
    name: str, load: N.ProducerLoad, position: int, index: PrimExpr, dim: SymExpr
) -> None:
    axes = [id(node) for node in _leaves(index)]
    bounds = _range(index)
    # Ranges of an axis that occurs twice are not independent: the ends need not be reached.
    if bounds is None or len(set(axes)) < len(axes):
        return
    low, high = bounds
    below, beyond = low.upper_bound(), (high - dim).lower_bound()
    if (below is not None and below < 0) or (beyond is not None and beyond >= 0):
        raise ExprError(
            f"in te.compute '{name}', {load!r} reads outside of dimension {position} of "
            f"'{load.producer.name}', which has {dim} elements: the index goes from {low} to "
            f"{high}; guard it by tir.if_then_else"
        )


def _leaves(expr: PrimExpr) -> Iterator[Leaf]:
    """Yield the variables of an expression, each as often as it occurs."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, Leaf):
            yield node
        elif isinstance(node, (N.Add, N.Sub, N.Mul)):
            pending += node.operands


def _range(expr: PrimExpr) -> tuple[SymExpr, SymExpr] | None:
    """Return the first and the last value of an index, None where that is not simple."""
    if isinstance(expr, IntImm):
        return SymExpr.const(expr.value), SymExpr.const(expr.value)
    if isinstance(expr, Size):
        return expr.expr, expr.expr
    if isinstance(expr, IterVar):
        start, extent = expr.dom.min, expr.dom.extent
        if (extent - 1).lower_bound() in (None, -1):
            # It may have no values at all.
            return None
        return start, start + extent - 1
    if not isinstance(expr, (N.Add, N.Sub, N.Mul)):
        return None
    left, right = _range(expr.a), _range(expr.b)
    if left is None or right is None:
        return None
    if isinstance(expr, N.Add):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(expr, N.Sub):
        return left[0] - right[1], left[1] - right[0]
    factor = right[0].value
    if factor is None or right[1].value != factor:
        return None
    ends = left[0] * factor, left[1] * factor
    return ends if factor >= 0 else ends[::-1]
