"""The primitives `reindex`, `reindex_cache_read`, `reindex_cache_write` and `cache_inplace`."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.analysis.written_region import stored_always
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap, index_map_of
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.cache import copier
from relax_mlir.tir.schedule.primitives.padding import number
from relax_mlir.tir.schedule.primitives.transform_block_layout import iterator_map
from relax_mlir.tir.schedule.primitives.transform_layout import buffer_of
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, guarded_values, tree
from relax_mlir.tir.view.accesses import Access, accesses, declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range, covers, range_of
from relax_mlir.tir.view.simplify import simplify

memref: ModuleType = submodule("dialects.memref")
_PLACES = {"memref.load": 0, "memref.store": 1}


def reindex(
    state: ScheduleState, block: ir.Operation, which: Any, index_map: IndexMap | None,
    scope: str | None,
) -> ir.Operation:  # fmt: skip
    """Have a block use a copy of a buffer whose indices its iterators say; returns the copier.

    Args:
        state: the program.
        block: the block.
        which: the buffer, as `buffer_of` takes it.
        index_map: from its iterators to the indices; those that say which element it is when None.
        scope: the storage scope of the copy, after which it is named; None for `reindex`.
    """
    buffer = buffer_of(state, block, which)
    name, what = buffers.name_of(buffer), tree.describe(block)
    writes = buffer in scopes.buffers(block)[1]
    indices = state.indices(block)
    if writes:
        scopes.check_regular(state, block)
    if not scopes.runs_for_all(indices, block):
        raise state.error(f"the predicate of {what} leaves out some of its points", block)
    _runs_everywhere(state, indices, block)
    uses = [a for a in accesses(indices, block) if a.buffer == buffer]
    element = _element(state, indices, block, uses, name)
    variables = [indices.var(argument) for argument in tree.body_of(block).arguments]
    extents = indices.extents(block)
    used = [i for i, v in enumerate(variables) if any(v.symbols & e.symbols for e in element)]
    if index_map is None:
        place, shape = [variables[i] for i in used], [extents[i] for i in used]
    else:
        place = index_map.map_indices(variables)
        try:
            shape = index_map.map_shape(extents)
        except ValueError as error:
            raise state.error(f"{index_map} gives no shape: {error}", block) from error
    if writes:
        _inside(state, indices, block, buffer, element, name)
        if not any(stored_always(indices, block, access) for access in uses):
            raise state.error(
                f"{what} may have points for which it stores nothing in '{name}'; a copy has no "
                "condition", block,
            )  # fmt: skip
    _check_map(state, indices, block, place, used, name)
    loops = tree.loops_around(block)
    top = loops[0] if loops else block
    _only_here(state, block, buffer, top, writes)
    title = f"{name}_{scope or 'reindex'}"
    copy = buffers.alloc(
        indices, title, shape, buffers.dtype_of(buffer), scope or buffers.scope_name(buffer)
    )
    at = edit.after(top) if writes else ir.InsertionPoint(top)
    if not writes and scope is None:
        # TVM's name, of what the block writes.
        title = f"{title}_reindex"
    made, values = _nest(indices, at, title, block, used)
    with edit.end_of(made), ir.Location.unknown():
        facts = indices.facts(list(tree.body_of(made).operations)[-1].operation)
        there = [simplify(e.substitute(values), facts) for e in element]
        here = [indices.emit(simplify(e.substitute(values), facts)) for e in place]
        if writes:
            element = buffers.copied(copy, here)
            memref.store(element, buffer, list(map(indices.emit, there)))
        else:
            memref.store(_element_or_zero(indices, buffer, there, facts), copy, here)
    for access in uses:
        _redirected(indices, block, access, copy, variables, place)
    fresh = state.indices(block)
    declare(fresh, made, block, *tree.blocks_around(block))
    edit.sweep(block)
    state.touch()
    return made


def _element_or_zero(
    indices: Indices, buffer: ir.Value, place: Sequence[SymExpr], facts: Facts
) -> ir.Value:
    """Write a load of an element, and 0 where indices may be outside of the buffer.

    A block that reads such elements does so under a condition, as one that pads.
    """
    outside = []
    for expr, dim in zip(place, buffers.dims_of(indices, buffer), strict=True):
        if not facts.can_prove(expr >= 0):
            outside.append(Comparison(SymExpr.const(0), 3, expr))
        if not facts.can_prove(expr < dim):
            outside.append(Comparison(expr, 2, dim))

    def load() -> ir.Value:
        return buffers.loaded(buffer, list(map(indices.emit, place)))

    if not outside:
        return buffers.copied(buffer, list(map(indices.emit, place)))
    condition = guarded_values.all_of(indices, outside)
    element = guarded_values.choose(
        condition, buffers.loaded_type(buffer), load, lambda: number(0, buffer)
    )
    return buffers.stored(buffer, element)


def _runs_everywhere(state: ScheduleState, indices: Indices, block: ir.Operation) -> None:
    """Check that the iterators of a block get all of their values."""
    variables = [indices.loop_range(loop) for loop in reversed(tree.loops_around(block))]
    facts = indices.facts(tree.scope_of(block))
    for binding, extent in zip(indices.bindings(block), indices.extents(block), strict=True):
        own = range_of(binding, variables, facts)
        if own is None or not covers([own], [Range(SymExpr.const(0), extent - 1)], facts):
            raise state.error(f"{tree.describe(block)} does not run for all of its points", block)


def _element(
    state: ScheduleState, indices: Indices, block: ir.Operation, uses: Sequence[Access], name: str
) -> list[SymExpr]:
    """Return the one element of a buffer that a block uses, in terms of its body's iterators."""
    exprs: list[list[SymExpr]] = []
    for access in uses:
        if access.indices is None or tree.blocks_around(access.op)[0] != block:
            raise state.error(f"{tree.describe(block)} uses more of '{name}' than one element")
        exprs.append([expr.substitute(_renamed(indices, block)) for expr in access.indices])
    if any(each != exprs[0] for each in exprs):
        raise state.error(f"{tree.describe(block)} uses several elements of '{name}'", block)
    names = {str(indices.var(a)) for a in tree.body_of(block).arguments}
    if any(indices.value_of(n) is not None and n not in names for e in exprs[0] for n in e.symbols):
        raise state.error(
            f"the indices of '{name}' in {tree.describe(block)} are not made of its iterators",
            block,
        )
    return exprs[0]


def _inside(
    state: ScheduleState, indices: Indices, block: ir.Operation, buffer: ir.Value,
    element: Sequence[SymExpr], name: str,
) -> None:  # fmt: skip
    """Check that every point of a block has an element: conditions inside may leave out some."""
    facts = indices.facts(list(tree.body_of(block).operations)[-1].operation)
    for expr, dim in zip(element, buffers.dims_of(indices, buffer), strict=True):
        if not facts.can_prove(expr >= 0) or not facts.can_prove(expr < dim):
            raise state.error(
                f"{tree.describe(block)} may have points for which index {expr} is outside of "
                f"'{name}', of {dim} elements there; a copy has no condition", block,
            )  # fmt: skip


def _renamed(indices: Indices, block: ir.Operation) -> dict[str, SymExpr]:
    body = tree.body_of(block)
    return {
        str(indices.var(argument)): indices.var(own)
        for region in block.regions for each in region.blocks
        for own, argument in zip(body.arguments, each.arguments, strict=True)
    }  # fmt: skip


def _check_map(
    state: ScheduleState, indices: Indices, block: ir.Operation, place: Sequence[SymExpr],
    used: Sequence[int], name: str,
) -> None:  # fmt: skip
    """Check that a place in the copy is of one element, and that its indices are of the block."""
    arguments = tree.body_of(block).arguments
    labels = edit.iterator_names(block)
    names = {str(indices.var(arguments[i])): labels[i] for i in used}
    facts = indices.facts(tree.body_of(block).operations[0].operation)
    determined = determined_names(place, facts)
    extents = indices.extents(block)
    for position in used:
        if str(indices.var(arguments[position])) not in determined and extents[position].value != 1:
            raise state.error(
                f"elements of '{name}' that differ in '{labels[position]}' would get one place",
                block,
            )
    for expr in place:
        for each in expr.symbols:
            if indices.value_of(each) is not None and each not in names:
                raise state.error(
                    f"the map uses an iterator that does not say which element of '{name}' it is",
                    block,
                )


def _only_here(
    state: ScheduleState, block: ir.Operation, buffer: ir.Value, top: ir.Operation, writes: bool
) -> None:
    """Check that no other block in the loops around a block writes or reads a buffer."""
    for other in scopes.siblings(block):
        if other == block or not tree.is_inside(other, top):
            continue
        reads, own = scopes.buffers(other)
        if buffer in own or (writes and buffer in reads):
            raise state.error(
                f"{tree.describe(other)} uses '{buffers.name_of(buffer)}' in {tree.describe(top)} "
                "too", other, block,
            )  # fmt: skip


def _nest(
    indices: Indices, at: ir.InsertionPoint, title: str, block: ir.Operation, used: Sequence[int]
) -> tuple[ir.Operation, dict[str, SymExpr]]:
    """Write loops over some iterators of a block and an empty block inside; returns it."""
    extents, labels = indices.extents(block), edit.iterator_names(block)
    variables, at = edit.new_nest(indices, at, [extents[i] for i in used])
    made = edit.new_block(indices, at, title, [("spatial", labels[i]) for i in used])
    edit.set_block(indices, made, variables, [], [extents[i] for i in used])
    old = tree.body_of(block).arguments
    return made, indices.renaming([old[i] for i in used], tree.body_of(made).arguments)


def _redirected(
    indices: Indices, block: ir.Operation, access: Access, copy: ir.Value,
    variables: Sequence[SymExpr], place: Sequence[SymExpr],
) -> None:  # fmt: skip
    op = access.op
    body = op.block
    while body.owner.operation != block:
        body = body.owner.operation.block
    own = {
        str(variable): indices.var(argument)
        for variable, argument in zip(variables, body.arguments, strict=True)
    }
    facts = indices.facts(op)
    with ir.InsertionPoint(op), op.location:
        items = [indices.emit(simplify(e.substitute(own), facts)) for e in place]
    edit.redirect(op, copy, items)


def cache_inplace(
    state: ScheduleState, block: ir.Operation, which: int | str, scope: str
) -> list[ir.Operation]:
    """Have a block update a copy of a buffer; returns the copiers there and back."""
    reads, writes = scopes.buffers(block)
    both = [each for each in reads if each in writes]
    names = [buffers.name_of(each) for each in both]
    what = tree.describe(block)
    if isinstance(which, str):
        if which not in names:
            raise state.error(f"{what} does not read and write '{which}'", block)
        buffer = both[names.index(which)]
    else:
        if not 0 <= which < len(reads) or reads[which] not in both:
            raise state.error(f"{what} does not read and write its buffer number {which}", block)
        buffer = reads[which]
    indices = state.indices(block)
    uses = [a for a in accesses(indices, block) if a.buffer == buffer]
    checks.by_elements(state, block, uses)
    loops = tree.loops_around(block)
    top = loops[0] if loops else block
    _only_here(state, block, buffer, top, True)
    dims = buffers.dims_of(indices, buffer)
    title = f"{buffers.name_of(buffer)}_{scope}"
    copy = buffers.alloc(indices, title, dims, buffers.dtype_of(buffer), scope)
    after = edit.after(top)
    made = [
        copier(indices, ir.InsertionPoint(top), title, dims, buffer, copy),
        copier(indices, after, buffers.name_of(buffer), dims, copy, buffer),
    ]
    for access in uses:
        access.op.operands[_PLACES[access.op.name]] = copy
    declare(indices, *tree.nested_blocks(block)[::-1], *tree.blocks_around(block))
    state.touch()
    return made


class ReindexPrimitives(ScheduleBase):
    """Copies in the order of a block's iterators."""

    @primitive("Reindex", inputs=("block",))
    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str) -> BlockRV:
        """Have a block use a copy of a buffer whose indices are its iterators, in their order.

        Args:
            block: uses one element of the buffer at each of its points.
            buffer: its name, or `("read", n)` or `("write", n)`.

        Returns:
            The block that copies, in front of the block's loops, or behind them where it writes.

        Raises:
            ScheduleError: the block is not like that, or the loops hold others that use the buffer.
        """
        return self._block_rv(reindex(self._state, self._block(block), buffer, None, None))

    @primitive("ReindexCacheRead", inputs=("block",), prepare=iterator_map)
    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Have a block read a copy of a buffer in a layout of its own.

        Args:
            block: reads one element of the buffer at each of its points.
            read_buffer_index: the position among what it reads, or the name of the buffer.
            storage_scope: of the copy.
            index_map: from the block's iterators to the indices of the copy.

        Returns:
            The block that copies.

        Raises:
            ScheduleError: as `reindex`, or two elements would get the same place.
        """
        return self._remapped("read", block, read_buffer_index, storage_scope, index_map)

    @primitive("ReindexCacheWrite", inputs=("block",), prepare=iterator_map)
    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Have a block write a buffer of its own in a layout of its own, which is copied then.

        Args:
            block: complete or a reduction, writes one element at each of its points.
            write_buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: of the new buffer.
            index_map: from the block's iterators to the indices of the new buffer.

        Returns:
            The block that copies.

        Raises:
            ScheduleError: as `reindex_cache_read`.
        """
        return self._remapped("write", block, write_buffer_index, storage_scope, index_map)

    def _remapped(
        self, kind: str, block: BlockRV | str, which: int | str, scope: str, index_map: Any
    ) -> BlockRV:
        buffer = which if isinstance(which, str) else (kind, which)
        op = self._block(block)
        return self._block_rv(reindex(self._state, op, buffer, index_map_of(index_map), scope))

    @primitive("CacheInplace", inputs=("block",))
    def cache_inplace(
        self, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str
    ) -> list[BlockRV]:
        """Have a block update a copy of a buffer, copied before it and back after it.

        Args:
            block: reads and writes the buffer, by its elements.
            read_buffer_index: the position among all that it reads, or the name of the buffer.
            storage_scope: of the copy.

        Returns:
            The block that copies there, and the one that copies back.

        Raises:
            ScheduleError: the block is not like that, or its loops hold others that use the buffer.
        """
        op = self._block(block)
        result = cache_inplace(self._state, op, read_buffer_index, storage_scope)
        return self._block_rvs(result)
