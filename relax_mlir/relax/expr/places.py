"""Positions of values: outputs of dataflow blocks, operations nested in expressions.

In MLIR a value that leaves a dataflow block is two values: the one inside, and a result of the
block's operation. For people both are one variable; `canonical` says which value stands for it.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE, is_make_tuple
from relax_mlir.lowering.walk import collect

LEAVES = frozenset({"relax.constant", "relax.shape_expr", "relax.prim_value", MAKE_TUPLE})
TERMINATORS = frozenset({"func.return", "relax.output", "relax.yield", "relax.condition"})
DATAFLOW = "relax.dataflow"
_PROJECTION = "relax.tuple_get_item"


def defining_op(value: ir.Value) -> ir.Operation | None:
    """Return the operation whose result a value is, None for a parameter."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def home(value: ir.Value) -> ir.Block:
    """Return the block that a value is defined in."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def terminator(block: ir.Block) -> ir.Operation | None:
    """Return a block's last operation if it is a dialect's terminator; takes constant time."""
    try:
        last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    except ValueError:
        return None
    last = None if last is None else last.operation
    return last if last is not None and last.name in TERMINATORS else None


def is_number(op: ir.Operation) -> bool:
    """Whether an operation is a number of another dtype than int64, which has no name."""
    if op.name != "relax.tensor_to_scalar" or location_name(op.location):
        return False
    source = defining_op(op.operands[0])
    return source is not None and source.name == "relax.constant" and is_leaf(source)


def is_leaf(op: ir.Operation) -> bool:
    """Whether an operation is part of the expression that uses it: a constant without a name."""
    if is_number(op):
        return True
    return op.name in LEAVES and (op.name != MAKE_TUPLE or is_make_tuple(op)) and (
        not location_name(op.location)
    )  # fmt: skip


def outputs(dataflow: ir.Operation) -> list[ir.Value]:
    """Return the values inside a dataflow block that leave it, in order."""
    giver = _giver(dataflow)
    return [] if giver is None else list(giver.operands)


def _giver(dataflow: ir.Operation) -> ir.Operation | None:
    """Return the operation whose operands leave a dataflow block: its end, or a tuple made for it.

    Takes constant time, as do those below: a block may have very many outputs.
    """
    end = terminator(dataflow.regions[0].blocks[0])
    if end is None or len(end.operands) != 1:
        return end
    owner = defining_op(end.operands[0])
    if owner is None or not is_make_tuple(owner) or len(owner.operands) < 2:
        return end
    return end if location_name(owner.location) else owner


def _place_in(giver: ir.Operation, value: ir.Value) -> int | None:
    """Return which operand of an operation a value is, None for none."""
    # The end of a block comes last, so its use is among the first of the value's.
    operands = giver.operands
    place: int | None = None
    for count, use in enumerate(value.uses):
        if use.owner.operation == giver:
            place = use.operand_number if place is None else min(place, use.operand_number)
        elif place is None and count > len(operands):
            result = list(operands)
            return result.index(value) if value in result else None
        elif place is not None:
            return place
    return place


def is_projection(op: ir.Operation) -> bool:
    """Whether an operation only takes one of several outputs out of a dataflow block."""
    if op.name != _PROJECTION:
        return False
    source = defining_op(op.operands[0])
    return source is not None and source.name == DATAFLOW and _count(source) > 1


def _count(dataflow: ir.Operation) -> int:
    giver = _giver(dataflow)
    return 0 if giver is None else len(giver.operands)


def canonical(value: ir.Value) -> ir.Value:
    """Return the value inside its dataflow block for one that left it; others unchanged."""
    while True:
        op = defining_op(value)
        if op is None:
            return value
        index = 0
        if op.name == _PROJECTION and is_projection(op):
            index = ir.IntegerAttr(op.attributes["index"]).value
            op = defining_op(op.operands[0])
            assert op is not None, "a projection has a dataflow block"
        elif op.name != DATAFLOW or _count(op) != 1:
            return value
        giver = _giver(op)
        assert giver is not None, "it gives something out"
        value = giver.operands[index]


def escaped(value: ir.Value) -> ir.Value | None:
    """Return what a value of a closed dataflow block is called after it, None when it stays."""
    block = home(value)
    dataflow = block.owner.operation
    if dataflow.name != DATAFLOW or not len(dataflow.results):
        return None
    giver = _giver(dataflow)
    position = None if giver is None else _place_in(giver, value)
    if giver is None or position is None:
        return None
    if len(giver.operands) == 1:
        return dataflow.results[0]
    for use in dataflow.results[0].uses:
        user = use.owner.operation
        if user.name == _PROJECTION and user.attributes["index"].value == position:
            return user.results[0]
    return None


def is_local(value: ir.Value) -> bool:
    """Whether a value is visible in its dataflow block only."""
    op = defining_op(value)
    if op is None:
        return False
    parent = op.parent
    if parent is None or parent.operation.name != DATAFLOW:
        return False
    giver = _giver(parent.operation)
    return giver is None or _place_in(giver, value) is None


def is_binding(op: ir.Operation) -> bool:
    """Whether an operation is a binding of its block for people."""
    return op.name not in TERMINATORS and not is_leaf(op) and not is_projection(op)


def operations_within(op: ir.Operation) -> list[ir.Operation]:
    """Return an operation and those in it, outer ones first."""
    return collect(op, lambda _: True)
