"""The primitives `reorder_block_iter_var` and `cache_index`."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import accesses, declare
from relax_mlir.tir.view.folding import fold
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.simplify import simplify

memref: ModuleType = submodule("dialects.memref")
_MAX_INT32 = (1 << 31) - 1


def reorder_block_iter_var(
    state: ScheduleState, block: ir.Operation, new_order: Sequence[int]
) -> None:
    """Put the iterators of a block in another order; its loops and what it computes stay."""
    what = tree.describe(block)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function has no iterators")
    kinds, labels = tree.iter_types(block), edit.iterator_names(block)
    order = list(new_order)
    if sorted(order) != list(range(len(kinds))):
        raise state.error(
            f"{what} has {len(kinds)} iterators: the order must have each of 0 to "
            f"{len(kinds) - 1} once, got {order}", block,
        )  # fmt: skip
    indices = state.indices(block)
    bindings, extents = indices.bindings(block), indices.extents(block)
    conditions = indices.block_conditions(block)
    made = edit.new_block(
        indices, ir.InsertionPoint(block), "moved", [(kinds[i], labels[i]) for i in order],
        tree.has_init(block),
    )  # fmt: skip
    edit.keep_attributes(made, block)
    edit.set_block(
        indices, made, [bindings[i] for i in order], conditions, [extents[i] for i in order]
    )
    for source, target in zip(block.regions, made.regions, strict=True):
        for old, new in zip(source.blocks, target.blocks, strict=True):
            for position, argument in zip(order, new.arguments, strict=True):
                old.arguments[position].replace_all_uses_with(argument)
            edit.move_ops(old, new)
    block.erase()
    state.touch()
    declare(state.indices(made), made)
    edit.sweep(made)


def cache_index(
    state: ScheduleState, block: ir.Operation, scope: str, threshold: int
) -> list[ir.Operation]:
    """Have a block load indices that it computes now; returns the blocks that compute them."""
    what = tree.describe(block)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function has no indices of its own")
    if threshold < 0:
        raise state.error(f"cse_thresh must not be negative, got {threshold}", block)
    indices = state.indices(block)
    names = {
        str(indices.var(argument)): (position, argument)
        for position, argument in enumerate(tree.body_of(block).arguments)
    }
    uses: dict[SymExpr, list[tuple[ir.Operation, int]]] = {}
    for access in accesses(indices, block, init=False):
        if access.op.name != "memref.load" or access.indices is None:
            continue
        if tree.parent_of(access.op) != block:
            raise state.error(f"{what} loads inside loops or conditions of its own", block)
        for position, expr in enumerate(access.indices):
            own = [name for name in expr.symbols if name in names]
            known = all(n in names or indices.value_of(n) is None for n in expr.symbols)
            if own and known and expr.name is None:
                uses.setdefault(expr, []).append((access.op, 1 + position))
    chosen = {expr: places for expr, places in uses.items() if len(places) >= threshold}
    loops = tree.loops_around(block)
    made = []
    for number, (expr, places) in enumerate(chosen.items()):
        top = loops[0] if loops else block
        made.append(_precomputed(state, indices, block, top, scope, number, expr, places))
    declare(indices, block, *tree.blocks_around(block))
    edit.sweep(block)
    state.touch()
    return made


def _precomputed(
    state: ScheduleState, indices: Indices, block: ir.Operation, top: ir.Operation, scope: str,
    number: int, expr: SymExpr, places: Sequence[tuple[ir.Operation, int]],
) -> ir.Operation:  # fmt: skip
    """Write a nest that stores an index for all values of the iterators that it is made of."""
    extents, labels = indices.extents(block), edit.iterator_names(block)
    arguments = tree.body_of(block).arguments
    used = [i for i, a in enumerate(arguments) if indices.var(a).symbols & expr.symbols]
    shape = [extents[i] for i in used]
    facts = indices.facts(tree.body_of(block).operations[0].operation)
    low, high = facts.bounds(expr)
    small = low is not None and high is not None and -_MAX_INT32 <= low <= high <= _MAX_INT32
    dtype = "int32" if small else "int64"
    cache = buffers.alloc(indices, f"index_var_{number}", shape, dtype, scope)
    variables, at = edit.new_nest(indices, ir.InsertionPoint(top), shape)
    made = edit.new_block(indices, at, f"index_{number}", [("spatial", labels[i]) for i in used])
    edit.set_block(indices, made, variables, [], shape)
    values = indices.renaming([arguments[i] for i in used], tree.body_of(made).arguments)
    with edit.end_of(made), ir.Location.unknown():
        inside = indices.facts(list(tree.body_of(made).operations)[-1].operation)
        value = indices.scalar(simplify(expr.substitute(values), inside))
        memref.store(S.cast(value, dtype).value, cache, list(tree.body_of(made).arguments))
    # An index of iterators of one step is a number.
    fold(indices, made)
    declare(indices, made)
    for op, position in places:
        # The name of the operation's result, if it has one, is not that of its index.
        with ir.InsertionPoint(op), ir.Location.unknown():
            loaded = memref.load(cache, [arguments[i] for i in used])
            op.operands[position] = S.cast(S.Scalar(loaded, dtype), S.INDEX).value
    return made


class IteratorPrimitives(ScheduleBase):
    """Precomputed indices, and the order of iterators."""

    @primitive("CacheIndex", inputs=("block",))
    def cache_index(
        self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0
    ) -> list[BlockRV]:
        """Have a block load the indices that it computes, which other blocks compute before it.

        Args:
            block: loads elements at indices that are more than one iterator.
            storage_scope: of the buffers of indices, `index_var_0`, `index_var_1`, ...
            cse_thresh: how often the block must use an index for it to be computed before.

        Returns:
            The blocks that compute them, in front of the loops of the block; none where no index
            is computed.

        Raises:
            ScheduleError: the block loads inside loops of its own.
        """
        op = self._block(block)
        return self._block_rvs(cache_index(self._state, op, storage_scope, cse_thresh))

    @primitive("ReorderBlockIterVar", inputs=("block",))
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Put the iterators of a block in another order; its loops stay.

        Args:
            block: the block.
            new_order: for each place the number of the iterator that goes there.

        Raises:
            ScheduleError: the numbers are not those of all iterators, each once.
        """
        reorder_block_iter_var(self._state, self._block(block), new_order)
