"""The primitive `rfactor`: partial reductions over one loop, then their reduction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.injective import determined_names
from relax_mlir.tir.schedule.analysis.reducers import Reducer, reducer_of
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.decompose_reduction import begin_before, bound_by_kind
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import declare
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.index import Indices

arith: ModuleType = submodule("dialects.arith")


@dataclass
class _Parts:
    """The iterators of a block of partial results."""

    kinds: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    bindings: list[SymExpr] = field(default_factory=list)
    extents: list[SymExpr] = field(default_factory=list)

    def add(self, kind: str, name: str, binding: SymExpr, extent: SymExpr) -> int:
        self.kinds.append(kind)
        self.names.append(name)
        self.bindings.append(binding)
        self.extents.append(extent)
        return len(self.kinds) - 1


def rfactor(state: ScheduleState, loop: ir.Operation, axis: int) -> ir.Operation:
    """Keep a partial result for each step of a loop, added up after it; returns the first block."""
    block, reducer, axis = _factored(state, loop, axis)
    indices = state.indices(block)
    loops = tree.loops_around(block)
    variable = indices.loop_var(loop)
    extent = indices.lift(loop.operands[1])
    partials = []
    for part in reducer.parts:
        dims = buffers.dims_of(indices, part.buffer)
        made = buffers.alloc(
            indices, f"{buffers.name_of(part.buffer)}_rf", [*dims[:axis], extent, *dims[axis:]],
            buffers.dtype_of(part.buffer), buffers.scope_name(part.buffer),
        )  # fmt: skip
        partials.append(made)
    kinds, bindings = tree.iter_types(block), indices.bindings(block)
    labels, extents = edit.iterator_names(block), indices.extents(block)
    title = tree.block_name(block)
    conditions = indices.block_conditions(block)
    # The nest of the partial results: all loops, the one factored out among the elements'.
    made, variables = _copied(indices, loops, loops[0])
    first = _Parts()
    label = f"v{tree.loop_name(loop)}"
    own = first.add("spatial", label, variable, extent)
    plain: dict[int, int] = {}
    own_loops: dict[str, int] = {}
    split = _split_iterators(kinds, bindings, variable)
    for i, (kind, binding) in enumerate(zip(kinds, bindings, strict=True)):
        if i not in split:
            plain[i] = first.add(kind, labels[i], binding, extents[i])
            continue
        for each in loops:
            name = str(indices.loop_var(each))
            if each != loop and name in binding.symbols and name not in own_loops:
                own_loops[name] = first.add(
                    "reduction", f"v{tree.loop_name(each)}", SymExpr.var(name),
                    indices.lift(each.operands[1]),
                )  # fmt: skip
    # Where nothing is left to add up, a partial result is what would have been added to it.
    sums = "reduction" in first.kinds or any(
        not isinstance(each, Comparison) or each.symbols & variable.symbols for each in conditions
    )
    partial = edit.new_block(
        indices, edit.end_of(made[-1]), f"{title}_rf",
        list(zip(first.kinds, first.names, strict=True)), init=sums,
    )  # fmt: skip
    edit.set_block(
        indices,
        partial,
        [binding.substitute(variables) for binding in first.bindings],
        edit.substituted(conditions, variables),
        first.extents,
    )
    arguments = tree.body_of(partial).arguments
    inner = {name: indices.var(arguments[place]) for name, place in own_loops.items()}
    inner[str(variable)] = indices.var(arguments[own])
    source = tree.body_of(block)
    with edit.end_of(partial), ir.Location.unknown():
        values = {
            source.arguments[i]: arguments[plain[i]]
            if i in plain
            else indices.emit(binding.substitute(inner))
            for i, binding in enumerate(bindings)
        }
        edit.copy_ops(source, values)
    if sums:
        _initialize(block, partial, reducer, {i: place for i, place in plain.items()
                                         if kinds[i] == "spatial"})  # fmt: skip
    else:
        stores = [v.operation for v in tree.body_of(partial).operations
                  if v.operation.name == "memref.store"]  # fmt: skip
        for store, part in zip(stores, reducer.parts, strict=True):
            store.operands[0] = values.get(part.value, part.value)
    for part, target in zip(reducer.parts, partials, strict=True):
        _redirect(partial, 0, part.buffer, target, axis, arguments[own])
        if sums:
            started = partial.regions[1].blocks[0].arguments[own]
            _redirect(partial, 1, part.buffer, target, axis, started)
    # What the sums began with, where that is no constant, is only read by the block after.
    edit.erase_unused(partial)
    declare(indices, partial)
    _written_back(state, indices, block, reducer, loop, partials, axis)
    edit.sweep(partial)
    state.touch()
    edit.normalize(state.indices(made[0]), made[0])
    return _with_beginning(state, partial, made[0])


def _split_iterators(
    kinds: Sequence[str], bindings: Sequence[SymExpr], variable: SymExpr
) -> set[int]:
    """Return the iterators that the loop factored out takes part in, and what shares theirs.

    Digits of one loop are not independent of the loop itself: either these or it are iterators.
    """
    names, result = set(variable.symbols), set[int]()
    while True:
        more = {
            i for i, binding in enumerate(bindings)
            if kinds[i] == "reduction" and names & binding.symbols
        } - result  # fmt: skip
        if not more:
            return result
        result |= more
        names |= frozenset().union(*(bindings[i].symbols for i in more))


def _initialize(
    block: ir.Operation, partial: ir.Operation, reducer: Reducer, places: dict[int, int]
) -> None:
    """Have partial results begin with the number that changes nothing.

    Args:
        block: the reduction.
        partial: the block of partial results.
        reducer: what the reduction does.
        places: for spatial iterators of the one their positions in the other one.
    """
    begin = block.regions[1].blocks[0]
    started = partial.regions[1].blocks[0]
    with ir.InsertionPoint(list(started.operations)[-1]), ir.Location.unknown():
        values = {begin.arguments[i]: started.arguments[place] for i, place in places.items()}
        edit.copy_ops(begin, values)
        identities = {part.buffer: part.identity for part in reducer.parts}
        for view in list(started.operations):
            store = view.operation
            identity = identities[store.operands[1]] if store.name == "memref.store" else None
            if identity is not None:
                number = arith.ConstantOp(store.operands[0].type, identity).result
                store.operands[0] = number
                number.owner.operation.move_before(store)


def _factored(
    state: ScheduleState, loop: ir.Operation, axis: int
) -> tuple[ir.Operation, Reducer, int]:
    """Check that a loop can be factored out; returns its block, what it does, and the axis.

    Loops around those of the reduction may hold other blocks too.
    """
    checks.plain_loop(state, loop)
    what = tree.describe(loop)
    blocks = tree.blocks_under(loop)
    if len(blocks) != 1:
        raise state.error(f"{what} holds {len(blocks)} blocks", loop, *blocks)
    block = blocks[0]
    checks.reduction(state, block)
    reducer = reducer_of(block)
    if isinstance(reducer, str):
        raise state.error(f"{tree.describe(block)} cannot be decomposed: {reducer}", block)
    indices = state.indices(block)
    loops = tree.loops_around(block)
    for each in loops:
        checks.starts_at_zero(state, indices, each)
    of_kind = bound_by_kind(indices, block)
    _beside(state, block, loops, _shared(block, loops), of_kind["reduction"], indices)
    for number, each in enumerate(loops):
        names = indices.loop_var(each).symbols
        around = [indices.loop_var(o).symbols for o in loops[:number]]
        determined = names & (of_kind["reduction"] | of_kind["spatial"])
        if (
            not determined
            and any(o & of_kind["reduction"] for o in around)
            and (indices.lift(each.operands[1]).value != 1)
        ):
            raise state.error(f"{tree.describe(each)} repeats {tree.describe(block)}", each, block)
        if names & of_kind["reduction"] and names & of_kind["spatial"]:
            raise state.error(
                f"{tree.describe(each)} says which element is reduced and is one of the reduction",
                each, block,
            )  # fmt: skip
        if any(indices.lift(value).is_const is False and
               indices.lift(value).symbols & {str(indices.loop_var(o)) for o in loops}
               for value in each.operands):  # fmt: skip
            raise state.error(f"the extent of {tree.describe(each)} depends on another loop", each)
    if not indices.loop_var(loop).symbols & of_kind["reduction"]:
        raise state.error(f"{what} is no loop of the reduction", loop, block)
    rank = ir.MemRefType(reducer.parts[0].buffer.type).rank
    if not -rank - 1 <= axis <= rank:
        raise state.error(f"factor_axis must be in the range [{-rank - 1}, {rank}], got {axis}")
    return block, reducer, axis + rank + 1 if axis < 0 else axis


def _shared(block: ir.Operation, loops: list[ir.Operation]) -> int:
    """Return how many of the loops around a block, outermost first, something else is in too."""
    lines = list(zip(loops, [*loops[1:], block], strict=True))
    return max((i + 1 for i, pair in enumerate(lines) if not checks.holds_only(*pair)), default=0)


def _beside(
    state: ScheduleState, block: ir.Operation, loops: list[ir.Operation], shared: int,
    reduced: frozenset[str], indices: Indices,
) -> None:  # fmt: skip
    """Check that partial results may come before all that runs in the loops around a block."""
    for outer, inner in zip(loops[:shared], [*loops[1:], block], strict=False):
        if (
            inner.parent.operation != outer
            or inner == block
            or (indices.loop_var(outer).symbols & reduced)
        ):
            raise state.error(
                f"{tree.describe(inner)} is not all that {tree.describe(outer)} holds", outer, inner
            )
    if shared and not all(isinstance(c, Comparison) for c in indices.block_conditions(block)):
        raise state.error(f"the predicate of {tree.describe(block)} is not known outside", block)
    reads = scopes.buffers(block)[0] if shared else []
    for other in tree.blocks_under(loops[0]) if shared else ():
        written = next((b for b in scopes.buffers(other)[1] if b in reads), None)
        if other != block and written is not None:
            raise state.error(
                f"{tree.describe(other)} writes '{buffers.name_of(written)}' in "
                f"{tree.describe(loops[0])} too, and {tree.describe(block)} reads it",
                other, block, loops[0],
            )  # fmt: skip


def _copied(
    indices: Indices, loops: list[ir.Operation], before: ir.Operation
) -> tuple[list[ir.Operation], dict[str, SymExpr]]:
    made, variables, _ = edit.copy_loops(indices, ir.InsertionPoint(before), loops)
    for new, each in zip(made, loops, strict=True):
        edit.run_like(new, each)
    return made, variables


def _redirect(
    block: ir.Operation, region: int, buffer: ir.Value, target: ir.Value, axis: int, index: ir.Value
) -> None:
    """Have loads and stores of a buffer go to another one that has one dimension more."""
    body = block.regions[region].blocks[0]
    for op in [each for view in body.operations for each in tree.walk(view.operation)]:
        position = {"memref.load": 0, "memref.store": 1}.get(op.name)
        if position is None or op.operands[position] != buffer:
            continue
        items = list(op.operands)[position + 1 :]
        edit.redirect(op, target, [*items[:axis], index, *items[axis:]])


def _written_back(
    state: ScheduleState, indices: Indices, block: ir.Operation, reducer: Reducer,
    loop: ir.Operation, partials: list[ir.Value], axis: int,
) -> None:  # fmt: skip
    """Make of the block one that adds up the partial results, under the loops that this needs."""
    loops, of_kind = tree.loops_around(block), bound_by_kind(indices, block)
    loops = loops[_shared(block, loops) :]
    kept = [
        each for each in loops
        if each == loop or not indices.loop_var(each).symbols & of_kind["reduction"]
    ]  # fmt: skip
    names = {str(indices.loop_var(each)) for each in loops if each not in kept}
    made, variables = _copied(indices, kept, loops[0])
    kinds, bindings = tree.iter_types(block), indices.bindings(block)
    labels, extents = edit.iterator_names(block), indices.extents(block)
    spatial = [i for i, kind in enumerate(kinds) if kind == "spatial"]
    variable = indices.loop_var(loop)
    last = edit.new_block(
        indices, edit.end_of(made[-1]), tree.block_name(block),
        [("reduction", f"v{tree.loop_name(loop)}"), *(("spatial", labels[i]) for i in spatial)],
        init=True,
    )  # fmt: skip
    edit.keep_attributes(last, block, "block_name")
    kept_conditions = [
        each for each in indices.block_conditions(block)
        if isinstance(each, Comparison) and not each.symbols & (names | variable.symbols)
    ]  # fmt: skip
    edit.set_block(
        indices,
        last,
        [variable.substitute(variables), *(bindings[i].substitute(variables) for i in spatial)],
        [each.substitute(variables) for each in kept_conditions],
        [indices.lift(loop.operands[1]), *(extents[i] for i in spatial)],
    )
    for region in (0, 1):
        source, target = block.regions[region].blocks[0], last.regions[region].blocks[0]
        values = {
            source.arguments[i]: argument
            for i, argument in zip(spatial, list(target.arguments)[1:], strict=True)
        }
        with ir.InsertionPoint(list(target.operations)[-1]), ir.Location.unknown():
            if region:
                edit.copy_ops(source, values)
                continue
            items = list(reducer.parts[0].store.operands)[2:]
            items = [_moved(item, source, values) for item in items]
            place = [*items[:axis], target.arguments[0], *items[axis:]]
            old = [(part.buffer, *items) for part in reducer.parts]
            reducer.combine(source, old, [(each, *place) for each in partials])
    declare(indices, last)
    title = tree.block_name(block)
    loops[0].erase()
    last.attributes["block_name"] = ir.StringAttr.get(title)
    state.touch()
    edit.normalize(state.indices(made[0]), made[0])


def _moved(value: ir.Value, source: ir.Block, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Return an index of a body at the current insertion point, computed again if it must be."""
    if value in values:
        return values[value]
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != source:
        return value
    op = value.owner.operation
    operands = [_moved(operand, source, values) for operand in op.operands]
    copy = op.clone(ip=ir.InsertionPoint.current)
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    values[value] = copy.results[0]
    return copy.results[0]


def _with_beginning(
    state: ScheduleState, partial: ir.Operation, loop: ir.Operation
) -> ir.Operation:
    """Give partial results a beginning of their own where a predicate may skip all of one."""
    indices = state.indices(partial)
    own = indices.bindings(partial)[0].symbols
    hanging = own | bound_by_kind(indices, partial)["reduction"]
    if all(
        isinstance(each, Comparison) and not each.symbols & hanging
        for each in indices.block_conditions(partial)
    ):
        return partial
    name, mark = tree.block_name(partial), state.sref(partial)
    _once_each(state, indices, partial)
    begin_before(state, partial, loop, f"{name}_init", name, hanging)
    result = state.find(mark)
    assert result is not None
    return result


def _once_each(state: ScheduleState, indices: Indices, partial: ir.Operation) -> None:
    """Check that loops reduce each element once: a beginning in front of all is for one time."""
    bindings, facts = indices.bindings(partial), indices.facts(partial, predicate=True)
    determined = determined_names(bindings, facts)
    for loop in tree.loops_around(partial):
        (name,) = indices.loop_var(loop).symbols
        if name not in determined and indices.lift(loop.operands[1]).value != 1:
            raise state.error(
                f"{tree.describe(loop)} may reduce an element several times, and a predicate may "
                f"leave nothing of it to {tree.describe(partial)}", loop, partial,
            )  # fmt: skip


class RFactorPrimitives(ScheduleBase):
    """Partial results of reductions."""

    @primitive("RFactor", inputs=("loop",))
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Keep a partial result for each step of a loop, in a buffer, and combine these after it.

        Sums, products, minima and maxima can be decomposed; the result of floating-point sums is
        rounded otherwise. So can a block that reduces several elements at once: each by itself, or
        two that are the place and the number of a minimum or a maximum, as with argmax, where of
        equal numbers another one may be found unless the comparison decides by the places.

        Args:
            loop: a loop of the reduction, not one of elements; only the block is inside.
            factor_axis: where the buffer of partial results has the dimension of the loop's steps;
                negative numbers count from the end.

        Returns:
            The block of the partial results, named after the old one with `_rf`, as their buffers
            are.

        Raises:
            ScheduleError: they are not like that.
        """
        return self._block_rv(rfactor(self._state, self._loop(loop), factor_axis))
