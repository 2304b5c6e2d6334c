"""The primitives `cache_read`, `cache_write`, `set_scope` and `storage_align`."""

from collections.abc import Sequence
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.domains import cut, region_of
from relax_mlir.tir.schedule.analysis.written_region import Box, written_box, written_inside
from relax_mlir.tir.schedule.attributes import attribute
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.decompose_reduction import bound_by_kind
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import Access, accesses, declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices
from relax_mlir.tir.view.regions import Range

memref: ModuleType = submodule("dialects.memref")
_ELEMENTS = ("memref.load", "memref.store")


def chosen_buffer(
    state: ScheduleState, block: ir.Operation, which: int | str, kind: str
) -> ir.Value:
    """Return a buffer that a block reads or writes, by its position there or its name.

    What a reduction with an init region reads only to add to it is not among what it reads.
    """
    reads, writes = scopes.buffers(block)
    if block.name == tree.BLOCK and tree.has_init(block):
        reads = [each for each in reads if each not in writes]
    own = reads if kind == "read" else writes
    names = [buffers.name_of(each) for each in own]
    if isinstance(which, str):
        if which not in names:
            raise state.error(
                f"{tree.describe(block)} has no {kind} buffer '{which}', but {', '.join(names)}",
                block,
            )
        return own[names.index(which)]
    if not 0 <= which < len(own):
        raise state.error(
            f"{tree.describe(block)} has no {kind} buffer number {which}: there are "
            f"{', '.join(names) or 'none'}, counted from 0",
            block,
        )
    return own[which]


def cache_read(
    state: ScheduleState, block: ir.Operation, which: int | str, scope: str,
    consumers: Sequence[ir.Operation],
) -> ir.Operation:  # fmt: skip
    """Copy a buffer that a block reads, and have its readers read the copy; returns the copier."""
    buffer = chosen_buffer(state, block, which, "read")
    indices = state.indices(block)
    siblings = scopes.siblings(block)
    readers = [each for each in siblings if buffer in scopes.buffers(each)[0]]
    # A reduction reads what it adds to.
    plain = [
        each for each in readers
        if each.name == tree.BLOCK and buffer not in scopes.buffers(each)[1]
    ]  # fmt: skip
    chosen = list(consumers) or plain
    if not chosen:
        raise state.error(
            f"everything that reads '{buffers.name_of(buffer)}' writes it too, so a copy is soon "
            "out of date", *readers,
        )  # fmt: skip
    for each in chosen:
        if each not in readers:
            raise state.error(
                f"{tree.describe(each)} does not read '{buffers.name_of(buffer)}' beside "
                f"{tree.describe(block)}", each, block,
            )  # fmt: skip
    uses = _elements(state, indices, block, buffer, chosen)
    writers = [each for each in siblings if buffer in scopes.buffers(each)[1]]
    first = min(chosen, key=siblings.index)
    for each in writers:
        if siblings.index(each) >= siblings.index(first):
            raise state.error(
                f"{tree.describe(each)} writes '{buffers.name_of(buffer)}' when it has been copied",
                each, first,
            )  # fmt: skip
    at = _statement(first, [w for w in writers if w != first])
    for each in chosen:
        if tree.parent_of(at) != tree.scope_of(block) and not tree.is_inside(
            each, tree.parent_of(at) or each
        ):
            raise state.error(
                f"'{buffers.name_of(buffer)}' is computed in a loop that {tree.describe(each)} is "
                "outside of", each,
            )  # fmt: skip
    dims = buffers.dims_of(indices, buffer)
    name = f"{buffers.name_of(buffer)}_{scope}"
    copy = buffers.alloc(indices, name, dims, buffers.dtype_of(buffer), scope)
    box = _needed(indices, at, uses, dims)
    made = copier(indices, ir.InsertionPoint(at), name, dims, buffer, copy, box)
    for access in uses:
        access.op.operands[_ELEMENTS.index(access.op.name)] = copy
    _declared(indices, uses)
    state.touch()
    return made


def _needed(
    indices: Indices, at: ir.Operation, uses: Sequence[Access], dims: Sequence[SymExpr]
) -> Box:
    """Return the part of a buffer that accesses in the statements from one on need."""
    outer = at.parent.operation
    facts = indices.facts(at)
    known = region_of(indices, outer, uses, facts) or [None] * len(dims)
    ranges: list[Range] = []
    within: dict[int, SymExpr] = {}
    for position, (own, dim) in enumerate(zip(known, dims, strict=True)):
        whole = Range(SymExpr.const(0), dim - 1)
        ranges.append(whole if own is None else cut(own, whole, facts))
        if not facts.can_prove(ranges[-1].low >= 0):
            ranges[-1] = whole
        if not facts.can_prove(ranges[-1].high < dim):
            within[position] = dim
    return Box(ranges, within)


def _elements(
    state: ScheduleState, indices: Indices, block: ir.Operation, buffer: ir.Value,
    inside: Sequence[ir.Operation],
) -> list[Access]:  # fmt: skip
    """Return the accesses of a buffer in some blocks, which must be loads and stores of it."""
    uses = [a for each in inside for a in accesses(indices, each) if a.buffer == buffer]
    return checks.by_elements(state, block, uses)


def _statement(op: ir.Operation, others: Sequence[ir.Operation]) -> ir.Operation:
    """Return the outermost statement around a block, in its scope, that holds no other block."""
    for loop in reversed(tree.loops_around(op)):
        if any(tree.is_inside(other, loop) for other in others):
            break
        op = loop
    return op


def copier(
    indices: Indices, at: ir.InsertionPoint, name: str, dims: Sequence[SymExpr], source: ir.Value,
    target: ir.Value, box: Box | None = None,
) -> ir.Operation:  # fmt: skip
    """Write a block that copies a buffer, all of it or a part; returns it."""
    box = box or Box([Range(SymExpr.const(0), dim - 1) for dim in dims], {})
    variables, at = edit.new_nest(indices, at, [own.extent for own in box.ranges])
    places = [own.low + each for own, each in zip(box.ranges, variables, strict=True)]
    made = edit.new_block(indices, at, name, [("spatial", f"v{i}") for i in range(len(dims))])
    within = [Comparison(places[dim], 2, bound) for dim, bound in box.within.items()]
    edit.set_block(indices, made, places, within, dims)
    items = list(tree.body_of(made).arguments)
    with edit.end_of(made), ir.Location.unknown():
        memref.store(buffers.copied(source, items), target, items)
    declare(indices, made)
    return made


def _declared(indices: Indices, uses: Sequence[Access]) -> None:
    declare(indices, *dict.fromkeys(b for a in uses for b in tree.blocks_around(a.op)))


def cache_write(
    state: ScheduleState, block: ir.Operation, which: int | str, scope: str,
    consumers: Sequence[ir.Operation],
) -> ir.Operation:  # fmt: skip
    """Have a block write a buffer of its own, which is copied then; returns the copier."""
    buffer = chosen_buffer(state, block, which, "write")
    name = buffers.name_of(buffer)
    indices = state.indices(block)
    scopes.check_regular(state, block, moves=False)
    siblings = scopes.siblings(block)
    for each in consumers:
        if each not in siblings or buffer not in scopes.buffers(each)[0] or each == block:
            raise state.error(f"{tree.describe(each)} does not read '{name}'", each, block)
    uses = _elements(state, indices, block, buffer, [block, *consumers])
    stores = [a for a in accesses(indices, block) if a.writes and a.buffer == buffer]
    body = [a for a in stores if a.op.block == tree.body_of(block)]
    begun = [a for a in stores if a.op.block in list(block.regions[1].blocks)]
    plain = len(body) == 1 and len(stores) == 1 + len(begun)
    readers = [
        each for each in siblings
        if each != block and each not in consumers and buffer in scopes.buffers(each)[0]
    ]  # fmt: skip
    for each in [*readers, *consumers]:
        if siblings.index(each) < siblings.index(block):
            raise state.error(f"{tree.describe(each)} reads '{name}' before", each, block)
    at = _statement(block, readers)
    dims = buffers.dims_of(indices, buffer)
    title = f"{name}_{scope}"
    copy = buffers.alloc(indices, title, dims, buffers.dtype_of(buffer), scope)
    loops = tree.loops_around(block)
    loops = loops[loops.index(at) :] if at in loops else []
    box = written_box(indices, block, body[0].op, loops) if plain else written_inside(
        indices, at, stores)  # fmt: skip
    if box is None and not plain:
        raise state.error(
            f"{tree.describe(block)} stores neither one element of '{name}' nor all of a box", block
        )
    if box is None:
        made = _copier_of(state, indices, block, at, title, body[0].op, copy)
    else:
        made = copier(indices, edit.after(at), title, dims, copy, buffer, box)
    for access in uses:
        access.op.operands[_ELEMENTS.index(access.op.name)] = copy
    _declared(indices, uses)
    state.touch()
    return made


def _copier_of(
    state: ScheduleState, indices: Indices, block: ir.Operation, at: ir.Operation, name: str,
    store: ir.Operation, source: ir.Value,
) -> ir.Operation:  # fmt: skip
    """Write a block that copies the elements that another block stores, after a statement."""
    loops = tree.loops_around(block)
    inside = loops[loops.index(at) :] if at in loops else []
    of_kind = bound_by_kind(indices, block)
    names = {each: str(indices.loop_var(each)) for each in inside}
    kept = [each for each in inside if names[each] in of_kind["spatial"]]
    gone = {names[each] for each in inside if each not in kept}
    conditions: list[Comparison | ir.Value] = []
    for each in indices.block_conditions(block):
        if not isinstance(each, Comparison) or (
            each.symbols & gone and each.symbols & {names[loop] for loop in kept}
        ):
            raise state.error(
                f"the predicate of {tree.describe(block)} does not say which elements it stores",
                block,
            )
        if not each.symbols & gone:
            conditions.append(each)
    for each in kept:
        if any(indices.lift(value).symbols & gone for value in each.operands):
            raise state.error(f"the range of {tree.describe(each)} depends on a reduction", each)
    _, variables, place = edit.copy_loops(indices, edit.after(at), kept, "ax{position}")
    spatial = [i for i, kind in enumerate(tree.iter_types(block)) if kind == "spatial"]
    labels, bindings = edit.iterator_names(block), indices.bindings(block)
    extents = indices.extents(block)
    made = edit.new_block(indices, place, name, [("spatial", labels[i]) for i in spatial])
    edit.set_block(
        indices,
        made,
        [bindings[i].substitute(variables) for i in spatial],
        [c.substitute(variables) for c in conditions if isinstance(c, Comparison)],
        [extents[i] for i in spatial],
    )
    arguments = tree.body_of(block).arguments
    known = indices.renaming([arguments[i] for i in spatial], tree.body_of(made).arguments)
    with edit.end_of(made), ir.Location.unknown():
        items = [
            indices.emit(indices.lift(item).substitute(known)) for item in list(store.operands)[2:]
        ]
        memref.store(buffers.copied(source, items), store.operands[1], items)
    declare(indices, made)
    return made


def set_scope(state: ScheduleState, block: ir.Operation, which: int | str, scope: str) -> None:
    """Note in which kind of memory a buffer is that a block writes."""
    buffer = _own(state, block, which)
    if buffers.scope_name(buffer) == scope:
        return
    attributes = buffer.owner.operation.attributes
    name = buffers.unused_name(tree.function_of(block), f"{buffers.name_of(buffer)}_{scope}")
    attributes["tir.scope"] = ir.StringAttr.get(scope)
    attributes["tir.name"] = ir.StringAttr.get(name)
    if scope == "global":
        del attributes["tir.scope"]
    buffer.owner.operation.location = ir.Location.name(name)


def _own(state: ScheduleState, block: ir.Operation, which: int | str) -> ir.Value:
    buffer = chosen_buffer(state, block, which, "write")
    checks.local(state, block, buffer)
    return buffer


def storage_align(
    state: ScheduleState, block: ir.Operation, which: int, axis: int, factor: int, offset: int
) -> None:
    """Note how the stride of a dimension is to be aligned, as TVM's annotation has it."""
    buffer = _own(state, block, which)
    rank = ir.MemRefType(buffer.type).rank
    if not -rank <= axis < rank:
        raise state.error(f"axis {axis} is not in the range [{-rank}, {rank})", block)
    if factor < 1:
        raise state.error(f"the factor must be positive, got {factor}", block)
    key = "buffer_dim_align"
    notes = {}
    if "annotations" in block.attributes:
        notes = {item.name: item.attr for item in ir.DictAttr(block.attributes["annotations"])}
    entries = [
        [ir.IntegerAttr(n).value for n in ir.ArrayAttr(each)]
        for each in (ir.ArrayAttr(notes[key]) if key in notes else ())
    ]
    place = [which, axis % rank]
    entries = [each for each in entries if each[:2] != place] + [[*place, factor, offset]]
    notes[key] = attribute(entries)
    block.attributes["annotations"] = ir.DictAttr.get(notes)


class CachePrimitives(ScheduleBase):
    """Cached copies of buffers, storage scopes, alignment."""

    @primitive("CacheRead", inputs=("block", "consumer_blocks"))
    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] = (),
    ) -> BlockRV:
        """Copy a buffer that a block reads, and have those that read it read the copy.

        Args:
            block: one that reads it.
            read_buffer_index: the position among what it reads, or the name of the buffer.
            storage_scope: of the copy, which is named after it.
            consumer_blocks: who reads the copy; all that read the buffer when none is given.

        Returns:
            The block that copies, in front of the first that reads the copy.

        Raises:
            ScheduleError: they do not read it by its elements, or it is written after that.
        """
        consumers = [self._block(each) for each in consumer_blocks]
        return self._block_rv(
            cache_read(self._state, self._block(block), read_buffer_index, storage_scope, consumers)
        )

    @primitive("CacheWrite", inputs=("block", "consumer_blocks"))
    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] = (),
    ) -> BlockRV:
        """Have a block write a buffer of its own, from which the old one is copied.

        Args:
            block: complete or a reduction, the only one that writes it.
            write_buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: of the new buffer, which is named after it.
            consumer_blocks: who reads the new buffer; the others read the old one.

        Returns:
            The block that copies, behind the loops of the one that writes.

        Raises:
            ScheduleError: they are not like that.
        """
        consumers = [self._block(each) for each in consumer_blocks]
        return self._block_rv(
            cache_write(
                self._state, self._block(block), write_buffer_index, storage_scope, consumers
            )
        )

    @primitive("SetScope", inputs=("block",))
    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Note in which kind of memory a buffer is; all memory is one kind on a CPU.

        Args:
            block: one that writes it.
            buffer_index: the position among what it writes, or the name of the buffer.
            storage_scope: such as `shared`; the buffer is named after it.

        Raises:
            ScheduleError: there is no such buffer, or it is a parameter.
        """
        set_scope(self._state, self._block(block), buffer_index, storage_scope)

    @primitive("StorageAlign", inputs=("block",))
    def storage_align(
        self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int
    ) -> None:
        """Have a buffer with a stride of `k * factor + offset` for some `k`, the least possible.

        It is an annotation of the block, `buffer_dim_align`, which lowering carries out: rows are
        longer than they need be. A buffer used other than by its elements stays dense.

        Args:
            block: one that writes the buffer.
            buffer_index: the position among what it writes.
            axis: the dimension; negative numbers count from the end.
            factor: what the stride is a multiple of.
            offset: what is added.

        Raises:
            ScheduleError: there is no such buffer or dimension, or it is a parameter.
        """
        storage_align(self._state, self._block(block), buffer_index, axis, factor, offset)
