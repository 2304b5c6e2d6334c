"""Passes that lower blocks: initialization, iterators, blocks."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.tir.ops import block_predicate, set_block_predicate
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.generic import inline
from relax_mlir.lowering.tir_to_vector.init import split_inits
from relax_mlir.lowering.tir_to_vector.scheduled.index import integer_of
from relax_mlir.lowering.walk import collect
from relax_mlir.tir.transform.functions import each_prim_func

_ACCESSES = ("tir.reads", "tir.writes")


def lower_init_block(op: ir.Operation) -> None:
    """Give the init regions of blocks places of their own.

    That is in front of the reduction loops where nothing else is in them, so that a reduction over
    nothing gives its identity; elsewhere it stays under the condition that a reduction begins.

    Args:
        op: the module, changed in place.
    """
    each_prim_func(op, split_inits)


def convert_blocks_to_opaque(op: ir.Operation) -> None:
    """Put the values of blocks' iterators in their place; the blocks have none afterwards.

    Args:
        op: the module, changed in place; its blocks must have no init regions.
    """

    def change(func: ir.OpView, emit: Emitter) -> None:
        split_inits(func, emit)
        for block in collect(func.operation, lambda op: op.name == "tir.block"):
            if len(block.attributes["iter_types"]):
                with block.location:
                    _make_opaque(block)

    each_prim_func(op, change)


def _make_opaque(block: ir.Operation) -> None:
    attributes = {name: block.attributes[name] for name in block.attributes}
    attributes["iter_types"] = ir.ArrayAttr.get([])
    body, predicate = block.regions[0].blocks[0], block_predicate(block)
    with ir.InsertionPoint(block):
        made = ir.Operation.create("tir.block", attributes=attributes, regions=2)
    for argument, value in zip(body.arguments, block.operands, strict=False):
        argument.replace_all_uses_with(value)
    target = made.regions[0].blocks.append()
    for view in list(body.operations):
        if view.operation.name == "tir.where":
            continue
        target.append(view)
        if view.operation.name in _ACCESSES:
            # The elements are no function of iterators any more.
            view.operation.attributes["map"] = ir.UnitAttr.get()
    block.erase()
    if predicate is not None:
        set_block_predicate(made, predicate)


def lower_opaque_block(op: ir.Operation) -> None:
    """Replace blocks by what is in them, their predicates by branches.

    A loop of one step becomes that step, unless somebody annotated it.

    Args:
        op: the module, changed in place.
    """

    def change(func: ir.OpView, emit: Emitter) -> None:
        split_inits(func, emit)
        for block in reversed(collect(func.operation, lambda op: op.name == "tir.block")):
            inline(block)
        for loop in reversed(collect(func.operation, lambda op: op.name == "tir.for")):
            if integer_of(loop.operands[1]) == 1 and set(loop.attributes) <= {"kind"}:
                _run_once(loop)

    each_prim_func(op, change)


def _run_once(loop: ir.Operation) -> None:
    body = loop.regions[0].blocks[0]
    body.arguments[0].replace_all_uses_with(loop.operands[0])
    for view in list(body.operations):
        if view.operation.name != "tir.yield":
            view.operation.move_before(loop)
    loop.erase()
