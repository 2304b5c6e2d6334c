"""The primitive `fuse_reduction_epilogue`: the epilogue's operand becomes the initial value."""

from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.tir.schedule.analysis import scopes
from relax_mlir.tir.schedule.analysis.reducers import Update, update_of
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV
from relax_mlir.tir.schedule.primitives import checks
from relax_mlir.tir.schedule.primitives import inline as I
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import buffers, edit, tree
from relax_mlir.tir.view.accesses import declare

memref: ModuleType = submodule("dialects.memref")


def fuse_reduction_epilogue(state: ScheduleState, block: ir.Operation, after: ir.Operation) -> None:
    """Have a reduction begin with what another block combines with its result; that block goes."""
    what, other = tree.describe(block), tree.describe(after)
    checks.reduction(state, block)
    update = update_of(block)
    if isinstance(update, str):
        raise state.error(f"{what} cannot be decomposed: {update}", block)
    element = I.complete(state, after)
    buffer = update.store.operands[1]
    name = buffers.name_of(buffer)
    checks.local(state, block, buffer)
    indices = state.indices(block)
    loads = [op for op in I.loads_of(buffer) if not tree.is_inside(op, block)]
    if not loads or any(not tree.is_inside(op, after) for op in loads):
        raise state.error(f"{other} is not the one block that reads '{name}'", block, after)
    if len(loads) > 1 or any(
        use.owner.operation.name not in ("memref.load", "memref.store", "tir.reads", "tir.writes")
        for use in buffer.uses
    ):
        raise state.error(f"{other} does not read '{name}' just once, by its elements", after)
    more = _combined(state, block, after, update, element.store, loads[0])
    places = I.iterators_of(indices, after, list(loads[0].operands)[1:])
    if places is None:
        raise state.error(
            f"the indices with which {other} reads '{name}' are not its iterators, each once", after
        )
    I.check_whole(state, indices, after, buffer, places)
    I.check_outputs_wait(state, after, block)
    if not scopes.runs_for_all(indices, block):
        raise state.error(f"the predicate of {what} leaves elements out", block)
    source = tree.body_of(after)
    target = [indices.lift(item) for item in list(element.store.operands)[2:]]
    known = {str(indices.var(argument)) for argument in source.arguments}
    if any(n not in known and indices.value_of(n) is not None for e in target for n in e.symbols):
        raise state.error(f"where {other} stores is not determined by its iterators", after)

    def moved(items: list[ir.Value]) -> list[ir.Value]:
        """Return the place in the new buffer of an element of the old one."""
        values = {
            str(indices.var(argument)): indices.lift(items[place])
            for argument, place in zip(source.arguments, places, strict=True)
            if place is not None
        }
        zeros = {n: SymExpr.const(0) for n in known - set(values)}
        return [indices.emit(expr.substitute(values | zeros)) for expr in target]

    begin, store, load = update.begin, update.store, update.load
    with ir.InsertionPoint(begin), begin.location:
        values = I.values_at(indices, source, places, list(begin.operands)[2:])
        I.copy_value(source, more, values)
        first = values.get(more, more)
        if not _is_number(begin.operands[0], update.identity):
            first = _copy_of(update.combine, [begin.operands[0], first])
        memref.store(first, element.buffer, moved(list(begin.operands)[2:]))
    with ir.InsertionPoint(load), load.location:
        own = memref.load(element.buffer, moved(list(load.operands)[1:]))
    load.results[0].replace_all_uses_with(own)
    with ir.InsertionPoint(store), store.location:
        memref.store(store.operands[0], element.buffer, moved(list(store.operands)[2:]))
    for op in (load, store, begin):
        op.erase()
    edit.remove_statement(after)
    declare(indices, block, *tree.blocks_around(block))
    edit.remove_unused_buffer(buffer)
    edit.sweep(block)
    state.touch()


def _combined(
    state: ScheduleState, block: ir.Operation, after: ir.Operation, update: Update,
    store: ir.Operation, load: ir.Operation,
) -> ir.Value:  # fmt: skip
    """Return what a block combines with the result of a reduction, by its own operation."""
    value = store.operands[0]
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    word = update.combine.name.removeprefix("arith.")
    if op is None or op.name != update.combine.name or load.results[0] not in list(op.operands):
        raise state.error(
            f"{tree.describe(after)} does not store the result of {tree.describe(block)} combined "
            f"by '{word}', as the reduction combines: anything else would have to wait for its end",
            block, after,
        )  # fmt: skip
    first, second = op.operands
    if len(list(load.results[0].uses)) != 1:
        raise state.error(f"{tree.describe(after)} uses the result several times", after)
    return second if first == load.results[0] else first


def _is_number(value: ir.Value, number: ir.Attribute) -> bool:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return False
    return value.owner.operation.attributes["value"] == number


def _copy_of(op: ir.Operation, operands: list[ir.Value]) -> ir.Value:
    copy = op.clone(ip=ir.InsertionPoint.current)
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    return copy.results[0]


class ReductionEpiloguePrimitives(ScheduleBase):
    """Epilogues as initial values of reductions."""

    @primitive("FuseReductionEpilogue", inputs=("reduction_block", "epilogue_block"))
    def fuse_reduction_epilogue(
        self, reduction_block: BlockRV | str, epilogue_block: BlockRV | str
    ) -> None:
        """Have a reduction begin with what another block combines with its result, and drop that.

        A bias is added to a sum so, and a maximum is bounded from below. What would have to wait
        for the end of the reduction, such as the maximum of a sum and 0, is rejected: TVM applies
        it at each step, which changes results.

        Args:
            reduction_block: a reduction block that writes a buffer of the function.
            epilogue_block: complete, the one block that reads the buffer; combines each element
                with something by the operation of the reduction.

        Raises:
            ScheduleError: they are not like that.
        """
        reduction, epilogue = self._block(reduction_block), self._block(epilogue_block)
        fuse_reduction_epilogue(self._state, reduction, epilogue)
