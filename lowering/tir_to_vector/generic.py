"""The path that lowers any prim func: loops become scf loops, blocks are inlined (G06)."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import AS_IT_LIKES, Emitter

_HINTS = {
    "unrolled": "#llvm.loop_annotation<unroll = <disable = false, full = true>>",
    "vectorized": "#llvm.loop_annotation<vectorize = <disable = false>>",
}


def lower_block(block: ir.Block, emit: Emitter) -> None:
    """Replace the tir operations in a block, and in all regions under it, in place.

    `tir.symbol` stays, and blocks must have no init regions (see `split_inits`).
    """
    for view in list(block.operations):
        op = view.operation
        for region in op.regions:
            for inner in region.blocks:
                lower_block(inner, emit)
        if op.name == "tir.for":
            _lower_for(op, emit)
        elif op.name == "tir.block":
            inline(op)


def inline(op: ir.Operation) -> None:
    """Put the operations of a `tir.block`'s body in its place."""
    body = op.regions[0].blocks[0]
    for argument, value in zip(body.arguments, op.operands, strict=False):
        argument.replace_all_uses_with(value)
    for view in list(body.operations):
        inner = view.operation
        if inner.name not in ("tir.reads", "tir.writes", "tir.yield"):
            inner.move_before(op)
    op.erase()


def _lower_for(op: ir.Operation, emit: Emitter) -> None:
    body = op.regions[0].blocks[0]
    kind = ir.StringAttr(op.attributes["kind"]).value
    lower, extent = (constant_or_value(value) for value in op.operands)
    with op.location, ir.InsertionPoint(op):
        upper = emit.add(lower, extent)
        if kind == "parallel":
            with emit.parallel(lower, upper) as counter:
                _move(body, counter)
        else:
            with emit.loop(lower, upper, hints=_HINTS.get(kind, AS_IT_LIKES)) as loop:
                _move(body, loop.counter)
    op.erase()


def _move(body: ir.Block, counter: ir.Value) -> None:
    body.arguments[0].replace_all_uses_with(counter)
    target = ir.InsertionPoint.current.block
    for view in list(body.operations):
        if view.operation.name != "tir.yield":
            target.append(view)


def constant_or_value(value: ir.Value) -> int | ir.Value:
    """Return the integer of an `arith.constant`, else the value."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant":
        return ir.IntegerAttr(owner.operation.attributes["value"]).value
    return value
