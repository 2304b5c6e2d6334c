"""The generic lowering: loops become scf loops, blocks are inlined."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.lowering.tir_to_vector.emit import AS_IT_LIKES, Emitter
from relax_mlir.lowering.tir_to_vector.externs import lower_call, lower_packed
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.scheduled.threads import MARK, write_parallel


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
        elif op.name == "tir.call_extern":
            lower_call(op)
        elif op.name == "tir.call_packed":
            lower_packed(op)


def inline(op: ir.Operation) -> None:
    """Replace a `tir.block` by its body, under its predicate if it has one."""
    body = op.regions[0].blocks[0]
    for argument, value in zip(body.arguments, op.operands, strict=False):
        argument.replace_all_uses_with(value)
    predicate, place = block_predicate(op), op
    if predicate is not None and constant_or_value(predicate) not in (1, -1):
        guard = ir.Operation.create(
            "scf.if", operands=[predicate], regions=2, loc=op.location, ip=ir.InsertionPoint(op)
        )
        with ir.InsertionPoint(guard.regions[0].blocks.append()), op.location:
            place = ir.Operation.create("scf.yield")
    for view in list(body.operations):
        inner = view.operation
        if inner.name not in ("tir.where", "tir.reads", "tir.writes", "tir.yield"):
            inner.move_before(place)
    op.erase()


def _lower_for(op: ir.Operation, emit: Emitter) -> None:
    body = op.regions[0].blocks[0]
    kind = ir.StringAttr(op.attributes["kind"]).value
    lower, extent = (constant_or_value(value) for value in op.operands)
    with op.location, ir.InsertionPoint(op):
        if kind == "parallel":
            write_parallel(op, emit, _move)
        else:
            upper = emit.add(lower, extent)
            with emit.loop(lower, upper, hints=AS_IT_LIKES) as loop:
                _move(body, loop.counter)
            if MARK in op.attributes and loop.op is not None:
                loop.op.attributes[MARK] = op.attributes[MARK]
    op.erase()


def _move(body: ir.Block, counter: ir.Value) -> None:
    body.arguments[0].replace_all_uses_with(counter)
    target = ir.InsertionPoint.current.block
    for view in list(body.operations):
        if view.operation.name != "tir.yield":
            target.append(view)
