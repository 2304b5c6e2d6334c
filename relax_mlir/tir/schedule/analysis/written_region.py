"""The bounding box of a block's writes over its loops."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.domains import below, box_of, cut, inner_variables, region_of
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.accesses import Access
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, covers


@dataclass(frozen=True)
class Box:
    """A part of a buffer.

    Attributes:
        ranges: of its indices, in terms of the loops around it.
        within: dimensions of which only indices under a bound count, with these bounds.
    """

    ranges: list[Range]
    within: dict[int, SymExpr]


def written_box(
    indices: Indices, block: ir.Operation, store: ir.Operation, loops: Sequence[ir.Operation]
) -> Box | None:
    """Return what a block stores in all steps of some loops, None where that is not known.

    Args:
        indices: of the function.
        block: the block.
        store: its only store, in its body.
        loops: loops around it, outermost first; none for one run of the block.
    """
    if not scopes.runs_for_all(indices, block):
        return None
    facts = indices.facts(loops[0] if loops else block)
    steps = [indices.loop_range(loop) for loop in reversed(loops)]
    kinds = tree.iter_types(block)
    spatial = [position for position, kind in enumerate(kinds) if kind == "spatial"]
    bindings, extents = indices.bindings(block), indices.extents(block)
    runs = box_of([bindings[i] for i in spatial], steps, facts, indices.facts(block))
    if runs is None:
        return None
    arguments = tree.body_of(block).arguments
    values: list[tuple[str, Range]] = []
    open_ended: dict[str, SymExpr] = {}
    for i, own in zip(spatial, runs, strict=True):
        name = str(indices.var(arguments[i]))
        own = cut(own, Range(SymExpr.const(0), extents[i] - 1), facts)
        values.append((name, own))
        if not facts.can_prove(own.low >= 0):
            return None
        if not facts.can_prove(own.high < extents[i]):
            open_ended[name] = extents[i]
    items = [indices.lift(item) for item in list(store.operands)[2:]]
    ranges = box_of(items, values, facts)
    if ranges is None:
        return None
    within = {
        dim: open_ended.pop(str(item.name)) for dim, item in enumerate(items)
        if item.name in open_ended
    }  # fmt: skip
    hidden = {str(indices.var(argument)) for argument in arguments}
    ends = frozenset().union(*(own.low.symbols | own.high.symbols for own in ranges))
    if open_ended or ends & (hidden | {name for name, _ in steps}):
        return None
    return Box(ranges, within)


def written_inside(
    indices: Indices, statement: ir.Operation, stores: Sequence[Access]
) -> Box | None:
    """Return what a statement with blocks of blocks stores, None where it is no box.

    Args:
        indices: of the function.
        statement: a loop or a block.
        stores: all that it stores of one buffer.
    """
    outer = statement.parent.operation
    facts = indices.facts(statement)
    known = region_of(indices, outer, stores, facts)
    if known is None:
        return None
    whole = [own for own in known if own is not None]
    for access in stores:
        around = [op for op in tree.ancestors(access.op) if tree.is_inside(op, statement)]
        if any(op.name not in (tree.BLOCK, tree.LOOP) for op in around):
            continue
        around = [op for op in around if op.name == tree.BLOCK]
        if len(whole) < len(known) or any(indices.block_conditions(op) for op in around):
            continue
        exprs = below(indices, access, outer)
        variables = inner_variables(indices, access.op, outer)
        if exprs is None or variables is None:
            continue
        ranges = box_of(exprs, variables, facts, indices.facts(access.op))
        if ranges is not None and covers(ranges, whole, facts):
            return Box(ranges, {})
    return None


def stored_always(indices: Indices, block: ir.Operation, access: Access) -> bool:
    """Whether each run of a block makes one of its accesses, which is to be a store."""
    if not access.writes:
        return False
    facts = indices.facts(tree.body_of(block).operations[0].operation)
    for op in tree.ancestors(access.op):
        if op == block:
            break
        loop = op.name == tree.LOOP and facts.can_prove(indices.lift(op.operands[1]) >= 1)
        if not loop:
            return False
    body = access.op
    while body.parent.operation != block:
        body = body.parent.operation
    return body.block == tree.body_of(block)
