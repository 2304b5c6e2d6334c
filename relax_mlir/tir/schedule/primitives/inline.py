"""The primitives `compute_inline` and `reverse_compute_inline`."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.inverses import inverse_of
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives.decompose_reduction import bound_by_kind
from relax_mlir.tir.schedule.primitives.loaded_arithmetic import settle
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import accesses, declare
from relax_mlir.tir.view.folding import fold
from relax_mlir.tir.view.index import Indices

_EFFECTS = ("memref.store", "func.call", "tir.assert", "tir.call_packed", "scf.while", "tir.for",
            "tir.block")  # fmt: skip


@dataclass
class Element:
    """What a block computes: one element of one buffer.

    Attributes:
        store: its store.
        buffer: what it stores to.
    """

    store: ir.Operation
    buffer: ir.Value


def compute_inline(state: ScheduleState, block: ir.Operation) -> None:
    """Compute what a block stores wherever it is read; the block goes."""
    element = complete(state, block)
    what, name = tree.describe(block), buffers.name_of(element.buffer)
    checks.local(state, block, element.buffer)
    indices = state.indices(block)
    items = list(element.store.operands)[2:]
    places = iterators_of(indices, block, items)
    if places is None:
        places = way_back(indices, block, element.buffer, items)
    if places is None:
        raise state.error(
            f"the indices with which {what} writes '{name}' are not its iterators, each once", block
        )
    readers = _readers(state, indices, block, element.buffer)
    _inputs_stay(state, block, readers)
    for each in readers:
        _buffers_reach(state, block, each)
    source = tree.body_of(block)
    touched = list(readers)
    for load in loads_of(element.buffer):
        touched += [op for op in tree.blocks_around(load) if op not in touched]
        items = list(load.operands)[1:]
        with ir.InsertionPoint(load), load.location:
            values = values_at(indices, source, places, items)
            _hoist(indices, load, values)
            copy_value(source, element.store.operands[0], values)
            result = values.get(element.store.operands[0], element.store.operands[0])
        load.results[0].replace_all_uses_with(result)
        load.erase()
    edit.remove_statement(block)
    for each in readers:
        fold(indices, each)
        settle(each)
    indices = state.indices(readers[0])
    declare(indices, *touched)
    edit.remove_unused_buffer(element.buffer)
    edit.sweep(indices.function)
    state.touch()


def _hoist(indices: Indices, load: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Compute indices that are used several times in front of the expression that a load is in.

    Scripts have no statements inside of a `T.if_then_else`, so they would compute them each time.
    """
    front = load
    while (parent := tree.parent_of(front)) is not None and parent.name == "scf.if":
        if not len(parent.results):
            break
        front = parent
    if front == load:
        return
    for argument, value in values.items():
        expr = indices.lift(value)
        owners = [indices.value_of(name) for name in expr.symbols]
        outside = all(each is None or isinstance(each.owner, ir.Block) for each in owners)
        if len(list(argument.uses)) > 1 and outside and not isinstance(value.owner, ir.Block):
            with ir.InsertionPoint(front), ir.Location.unknown():
                values[argument] = indices.emit(expr)


def complete(state: ScheduleState, block: ir.Operation) -> Element:
    """Return what a complete block computes: one store, under no condition.

    Raises:
        ScheduleError: it is no such block.
    """
    what = tree.describe(block)
    if block.name != tree.BLOCK:
        raise state.error("the body of a function cannot be inlined")
    problem = scopes.complete_problem(block, moves=False)
    if problem is not None:
        raise state.error(f"{what} is no complete block: {problem}", block)
    effects = [op for op in tree.walk(block) if op != block and op.name in _EFFECTS]
    if len(effects) != 1 or effects[0].name != "memref.store":
        raise state.error(f"{what} is not one store", block)
    store = effects[0]
    if store.block != tree.body_of(block):
        raise state.error(f"{what} stores only under a condition", block)
    return Element(store, store.operands[1])


def iterators_of(
    indices: Indices, block: ir.Operation, items: list[ir.Value]
) -> list[int | None] | None:
    """Return for each iterator the dimension whose index it is; None where one is another thing.

    An iterator of one step may be in none.
    """
    names = [indices.var(argument) for argument in tree.body_of(block).arguments]
    result: list[int | None] = [None] * len(names)
    for dim, item in enumerate(items):
        expr = indices.lift(item)
        if expr.value == 0:
            continue
        if expr not in names or result[names.index(expr)] is not None:
            return None
        result[names.index(expr)] = dim
    for place, extent in zip(result, indices.extents(block), strict=True):
        if place is None and extent.value != 1:
            return None
    return result


def loads_of(buffer: ir.Value) -> list[ir.Operation]:
    """Return the loads of a buffer."""
    return [use.owner.operation for use in buffer.uses if use.owner.operation.name == "memref.load"]


def _readers(
    state: ScheduleState, indices: Indices, block: ir.Operation, buffer: ir.Value
) -> list[ir.Operation]:
    """Return the blocks that read a buffer by loads; nothing else may use it."""
    result: list[ir.Operation] = []
    scope = tree.scope_of(block)
    siblings = scopes.siblings(block)
    for access in accesses(indices, indices.function):
        if access.buffer != buffer or tree.is_inside(access.op, block):
            continue
        reader = next((op for op in siblings if tree.is_inside(access.op, op)), None)
        if access.op.name != "memref.load" or reader is None or reader.name != tree.BLOCK:
            raise state.error(
                f"'{buffers.name_of(buffer)}' is used outside of the blocks of "
                f"{tree.describe(scope)}, or not by its elements", block,
            )  # fmt: skip
        if siblings.index(reader) < siblings.index(block):
            raise state.error(f"{tree.describe(reader)} reads it before it is computed", reader)
        if reader not in result:
            result.append(reader)
    if not result:
        raise state.error(f"nothing reads what {tree.describe(block)} computes", block)
    return result


def _buffers_reach(state: ScheduleState, block: ir.Operation, place: ir.Operation) -> None:
    """Check that what a block uses is made in no loop that another block is outside of."""
    for buffer in {each for pair in scopes.buffers(block) for each in pair}:
        home = buffer.owner.operation.parent.operation if buffers.is_local(buffer) else None
        if home is not None and not tree.is_inside(place, home):
            raise state.error(
                f"'{buffers.name_of(buffer)}', which {tree.describe(block)} uses, is made inside "
                f"{tree.describe(home)}, which {tree.describe(place)} is outside of", block, place,
            )  # fmt: skip


def _inputs_stay(state: ScheduleState, block: ir.Operation, readers: list[ir.Operation]) -> None:
    """Check that what a block reads is the same where it will be computed."""
    siblings = scopes.siblings(block)
    reads = scopes.buffers(block)[0]
    last = max(siblings.index(reader) for reader in readers)
    for other in siblings[siblings.index(block) + 1 : last + 1]:
        for buffer in scopes.buffers(other)[1]:
            if buffer in reads:
                raise state.error(
                    f"{tree.describe(other)} writes '{buffers.name_of(buffer)}' after "
                    f"{tree.describe(block)} has read it", other, block,
                )  # fmt: skip
    indices = state.indices(block)
    for other in siblings[: siblings.index(block)]:
        for loop in tree.loops_around(block):
            outside = [each for each in readers if not tree.is_inside(each, loop)]
            again = _written_again(indices, other, reads, loop) if outside else None
            if again is not None:
                raise state.error(
                    f"'{buffers.name_of(again)}', which {tree.describe(block)} reads, is written "
                    f"over by later steps of {tree.describe(loop)}, and "
                    f"{tree.describe(outside[0])} is outside of it", block, outside[0],
                )  # fmt: skip


def _written_again(
    indices: Indices, block: ir.Operation, wanted: list[ir.Value], loop: ir.Operation
) -> ir.Value | None:
    """Return one of some buffers to which steps of a loop may write other values than before."""
    result = next((each for each in scopes.buffers(block)[1] if each in wanted), None)
    if result is None or not tree.is_inside(block, loop):
        return None
    if indices.lift(loop.operands[1]).value == 1:
        return None
    if block.name != tree.BLOCK:
        return result
    follows = str(indices.loop_var(loop)) in bound_by_kind(indices, block)["reduction"]
    if follows or scopes.outside_problem(block, moves=False):
        return result
    return None if scopes.writes_once(indices, block, result) else result


def way_back(
    indices: Indices, block: ir.Operation, buffer: ir.Value, items: list[ir.Value]
) -> IndexMap | None:
    """Return the iterators of a block in terms of indices that are made of their digits.

    None where they are not, or do not go over all of the buffer.
    """
    names = {
        str(indices.var(argument)): SymExpr.var(f"i{position}")
        for position, argument in enumerate(tree.body_of(block).arguments)
    }
    exprs = [indices.lift(item) for item in items]
    if not all(expr.symbols <= set(names) for expr in exprs):
        return None
    extents, dims = indices.extents(block), buffers.dims_of(indices, buffer)
    facts = indices.facts(block)
    if not names or not facts.can_prove(product(extents) == product(dims)):
        return None
    if not scopes.runs_for_all(indices, block):
        return None
    own = IndexMap([str(name) for name in names.values()], [e.substitute(names) for e in exprs])
    try:
        back, conditions = inverse_of(own, extents)
    except ValueError:
        return None
    return None if conditions else back


def values_at(
    indices: Indices, body: ir.Block, places: list[int | None] | IndexMap,
    items: list[ir.Value],
) -> dict[ir.Value, ir.Value]:  # fmt: skip
    """Return what a block's iterators are where its element is the one of some indices.

    Args:
        indices: of the function.
        body: of the block.
        places: what `iterators_of` or `way_back` gives.
        items: the indices; what is computed of them is written at the current insertion point.
    """
    if isinstance(places, IndexMap):
        result = places.map_indices([indices.lift(item) for item in items])
        return {
            argument: indices.emit(expr)
            for argument, expr in zip(body.arguments, result, strict=True)
        }
    zero = indices.entry(SymExpr.const(0))
    return {
        argument: zero if place is None else items[place]
        for argument, place in zip(body.arguments, places, strict=True)
    }


def copy_value(source: ir.Block, wanted: ir.Value, values: dict[ir.Value, ir.Value]) -> None:
    """Write copies of what a value of a body is computed by at the current insertion point."""
    needed: set[ir.Operation] = set()
    pending = [wanted]
    while pending:
        value = pending.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if op in needed or not _is_in(op, source):
            continue
        needed.add(op)
        pending += [operand for inner in tree.walk(op) for operand in inner.operands]
    chosen = [v.operation for v in source.operations if v.operation in needed]
    edit.copy_chosen(chosen, values)


def _is_in(op: ir.Operation, body: ir.Block) -> bool:
    return op.block == body


def reverse_compute_inline(state: ScheduleState, block: ir.Operation) -> None:
    """Compute a block where the one block runs that writes what it reads; the block goes."""
    complete(state, block)
    what = tree.describe(block)
    indices = state.indices(block)
    producers = scopes.producers(block)
    if len(producers) != 1:
        raise state.error(f"{what} reads what {len(producers)} blocks compute", block, *producers)
    producer = producers[0]
    made = complete(state, producer)
    name = buffers.name_of(made.buffer)
    checks.local(state, producer, made.buffer)
    loads = [op for op in loads_of(made.buffer) if tree.is_inside(op, block)]
    others = [
        use.owner.operation for use in made.buffer.uses
        if use.owner.operation.name not in ("tir.reads", "tir.writes")
        and use.owner.operation != made.store and use.owner.operation not in loads
    ]  # fmt: skip
    if others:
        raise state.error(f"'{name}' is used elsewhere too", block, producer)
    items = list(loads[0].operands)[1:]
    exprs = [indices.lift(item) for item in items]
    if any([indices.lift(v) for v in list(op.operands)[1:]] != exprs for op in loads):
        raise state.error(f"{what} reads several elements of '{name}'", block)
    places = iterators_of(indices, block, items)
    if places is not None:
        check_whole(state, indices, block, made.buffer, places)
    else:
        places = way_back(indices, block, made.buffer, items)
    if places is None:
        raise state.error(
            f"the indices with which {what} reads '{name}' are not its iterators, each once", block
        )
    check_outputs_wait(state, block, producer)
    _buffers_reach(state, block, producer)
    source = tree.body_of(block)
    target = list(made.store.operands)[2:]
    with ir.InsertionPoint(made.store), made.store.location:
        known = values_at(indices, source, places, target)
    for load in loads:
        known[load.results[0]] = made.store.operands[0]
    chosen = [
        v.operation for v in source.operations
        if v.operation not in loads
        and v.operation.name not in edit.DECLARATIONS
    ]  # fmt: skip
    with ir.InsertionPoint(made.store), made.store.location:
        edit.copy_chosen(chosen, known)
    made.store.erase()
    buffer = made.buffer
    edit.remove_statement(block)
    fold(indices, producer)
    settle(producer)
    indices = state.indices(producer)
    declare(indices, producer, *tree.blocks_around(producer))
    edit.remove_unused_buffer(buffer)
    edit.sweep(indices.function)
    state.touch()


def check_whole(
    state: ScheduleState, indices: Indices, block: ir.Operation, buffer: ir.Value,
    places: list[int | None],
) -> None:  # fmt: skip
    """Check that a block runs for every element of a buffer."""
    dims, facts = buffers.dims_of(indices, buffer), indices.facts(block)
    extents = indices.extents(block)
    for place, extent in zip(places, extents, strict=True):
        if place is not None and not facts.can_prove(extent == dims[place]):
            raise state.error(
                f"{tree.describe(block)} does not run for all of '{buffers.name_of(buffer)}'", block
            )
    if not scopes.runs_for_all(indices, block):
        raise state.error(f"the predicate of {tree.describe(block)} leaves elements out", block)


def check_outputs_wait(state: ScheduleState, block: ir.Operation, producer: ir.Operation) -> None:
    """Check that a block may be where its producer is, for all that it writes and reads."""
    siblings = scopes.siblings(block)
    between = siblings[siblings.index(producer) + 1 : siblings.index(block)]
    for other in between:
        if scopes.depend(block, other):
            raise state.error(
                f"{tree.describe(other)} between them uses what {tree.describe(block)} uses",
                other, block, producer,
            )  # fmt: skip
    own_reads, own_writes = scopes.buffers(producer)
    writes = scopes.buffers(block)[1]
    if any(b in own_reads or b in own_writes for b in writes):
        raise state.error(
            f"{tree.describe(producer)} uses what {tree.describe(block)} writes", block, producer
        )


class InlinePrimitives(ScheduleBase):
    """Inlining of producers and of consumers."""

    @primitive("ComputeInline", inputs=("block",))
    def compute_inline(self, block: BlockRV | str) -> None:
        """Compute what a block stores wherever it is read; the block and its loops go.

        Args:
            block: complete, one store to a buffer of the function with its iterators as indices.

        Raises:
            ScheduleError: it is not like that, nothing reads it, or what it reads changes before
                what it computes is read.
        """
        compute_inline(self._state, self._block(block))

    @primitive("ReverseComputeInline", inputs=("block",))
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Compute a block in the one block that writes what it reads; the block and its loops go.

        Args:
            block: complete, one store; reads one element, by its iterators, of a buffer that one
                complete block writes and nothing else uses.

        Raises:
            ScheduleError: it is not like that.
        """
        reverse_compute_inline(self._state, self._block(block))
