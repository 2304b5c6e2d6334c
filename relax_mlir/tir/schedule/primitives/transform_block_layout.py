"""The primitive `transform_block_layout`: a new iteration space of a block."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.inverses import inverse_of
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.transform_layout import shape_of
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import edit, tree
from relax_mlir.tir.view.accesses import accesses, declare
from relax_mlir.tir.view.folding import fold
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify


def transform_block_layout(
    state: ScheduleState, block: ir.Operation, index_map: IndexMap
) -> ir.Operation:
    """Have a block run for other points, which stand for those that it ran for."""
    what = tree.describe(block)
    indices = state.indices(block)
    loops = plain_loops(state, indices, block)
    extents = indices.extents(block)
    if len(index_map.initial_indices) != len(extents):
        raise state.error(
            f"{what} has {len(extents)} iterators, the map takes "
            f"{len(index_map.initial_indices)} indices", block,
        )  # fmt: skip
    for kind in tree.iter_types(block):
        if kind not in ("spatial", "reduction"):
            raise state.error(f"{what} has a {kind} iterator, whose order counts", block)
    kinds = dict(zip(index_map.names, tree.iter_types(block), strict=True))
    types = []
    for expr in index_map.final_indices:
        own = {kinds[name] for name in index_map.names if name in expr.symbols}
        if len(own) > 1:
            raise state.error(
                f"'{expr}' mixes {' and '.join(sorted(own))} iterators of {what}", block
            )
        types.append(next(iter(own), "spatial"))
    shape = shape_of(state, block, index_map, extents)
    try:
        back, conditions = inverse_of(index_map, extents)
    except ValueError as error:
        raise state.error(f"the way back is not known: {error}", block) from error
    at = ir.InsertionPoint(loops[0]) if loops else ir.InsertionPoint(block)
    variables, at = edit.new_nest(indices, at, shape)
    names = [f"v{position}" for position in range(len(shape))]
    made = edit.new_block(
        indices, at, "moved", list(zip(types, names, strict=True)), tree.has_init(block)
    )
    known = dict(zip((str(each) for each in back.initial_indices), variables, strict=True))
    where = [each.substitute(known) for each in conditions]
    edit.set_block(indices, made, variables, where, shape)
    edit.keep_attributes(made, block)
    for source, target in zip(block.regions, made.regions, strict=True):
        for old, new in zip(source.blocks, target.blocks, strict=True):
            _moved(indices, old, new, back)
    (loops[0] if loops else block).erase()
    state.touch()
    fresh = state.indices(made)
    fold(fresh, made)
    fresh = state.indices(made)
    tidy(fresh, made)
    declare(fresh, *tree.nested_blocks(made)[::-1], *tree.blocks_around(made))
    edit.normalize(fresh, made)
    return made


def _moved(indices: Indices, source: ir.Block, target: ir.Block, back: IndexMap) -> None:
    """Move a body to another one, whose arguments determine those that it had."""
    exprs = back.map_indices([indices.var(argument) for argument in target.arguments])
    facts = indices.facts(list(target.operations)[-1].operation)
    with ir.InsertionPoint(list(target.operations)[-1]), ir.Location.unknown():
        values = [indices.emit(simplify(expr, facts)) for expr in exprs]
    for argument, value in zip(source.arguments, values, strict=True):
        argument.replace_all_uses_with(value)
    edit.move_ops(source, target)


def tidy(indices: Indices, block: ir.Operation) -> None:
    """Write the indices of what a block accesses as simply as can be.

    What blocks in it declare follows.
    """
    changed: list[ir.Operation] = []
    for access in accesses(indices, block):
        if access.indices is None:
            continue
        facts = indices.facts(access.op)
        first = 1 if access.op.name == "memref.load" else 2
        with ir.InsertionPoint(access.op), ir.Location.unknown():
            for position, expr in enumerate(access.indices):
                new = simplify(expr, facts)
                access.op.operands[first + position] = indices.emit(new)
                if new != expr:
                    changed.append(access.op)
    for each in tree.nested_blocks(block)[::-1]:
        if each != block and any(tree.is_inside(op, each) for op in changed):
            declare(indices, each)


def plain_loops(state: ScheduleState, indices: Indices, block: ir.Operation) -> list[ir.Operation]:
    """Return the loops of a block's iterators, each one's own, in each other, and nothing else.

    Raises:
        ScheduleError: the block is not like that.
    """
    what = tree.describe(block)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function has no iterators")
    problem = scopes.outside_problem(block)
    if problem is not None:
        raise state.error(f"{what} cannot get other loops: {problem}", block)
    around = tree.loops_around(block)
    by_name = {str(indices.loop_var(loop)): loop for loop in around}
    loops: list[ir.Operation] = []
    for binding, extent in zip(indices.bindings(block), indices.extents(block), strict=True):
        loop = by_name.get(str(binding)) if binding.name is not None else None
        if loop is None and binding.value == 0 and extent.value == 1:
            continue
        if loop is None or loop in loops:
            raise state.error(f"an iterator of {what} is not just the variable of a loop", block)
        lower, steps = map(indices.lift, loop.operands)
        if lower.value != 0 or steps != extent:
            raise state.error(f"{tree.describe(loop)} does not run for all of an iterator", loop)
        loops.append(loop)
    if indices.block_conditions(block):
        raise state.error(f"{what} has a predicate", block)
    if not loops:
        return []
    first = min(around.index(loop) for loop in loops)
    line = [*around[first:], block]
    for outer, inner in pairwise(line):
        if outer not in loops:
            raise state.error(f"{tree.describe(outer)} is no loop of {what}'s iterators", outer)
        checks.perfectly_nested(state, (outer, inner))
    return around[first:]


def iterator_map(sch: ScheduleBase, arguments: dict[str, Any]) -> None:
    """Make an index map of what was given as one of a block's iterators."""
    count = len(tree.iter_types(sch._block(arguments["block"])))
    arguments["index_map"] = index_map_of(arguments["index_map"], count)


class TransformBlockLayoutPrimitives(ScheduleBase):
    """Iteration spaces of blocks."""

    @primitive("TransformBlockLayout", inputs=("block",), prepare=iterator_map)
    def transform_block_layout(
        self, block: BlockRV | str, index_map: IndexMap | Callable[..., Any]
    ) -> None:
        """Have a block run for other points, which stand for those that it ran for.

        The new loops are serial: kinds, threads and annotations of the old ones go with them.

        Args:
            block: each of its iterators is the variable of one loop, which hold nothing else.
            index_map: from the values of its iterators to those of new ones, which get loops.

        Raises:
            ScheduleError: the block is not like that, the map is not one-to-one, or a new iterator
                would be both spatial and a reduction's.
        """
        transform_block_layout(self._state, self._block(block), index_map_of(index_map))
