"""Where values stand: what dataflow blocks give out, which operations are parts of expressions.

In MLIR a value that leaves a dataflow block is two values: the one inside, and a result of the
block's operation. For people both are one variable; `canonical` says which value stands for it.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE, is_make_tuple, known_fields
from relax_mlir.script.printer.names import location_name

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
    """Return a block's last operation if it is a terminator of ours; takes constant time."""
    try:
        last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    except ValueError:
        return None
    last = None if last is None else last.operation
    return last if last is not None and last.name in TERMINATORS else None


def is_leaf(op: ir.Operation) -> bool:
    """Whether an operation is part of the expression that uses it: a constant without a name."""
    return op.name in LEAVES and (op.name != MAKE_TUPLE or is_make_tuple(op)) and (
        not location_name(op.location)
    )  # fmt: skip


def outputs(dataflow: ir.Operation) -> list[ir.Value]:
    """Return the values inside a dataflow block that leave it, in order."""
    end = terminator(dataflow.regions[0].blocks[0])
    operands = [] if end is None else list(end.operands)
    if len(operands) == 1 and isinstance(operands[0].type, ir.TupleType):
        fields = known_fields(operands[0])
        owner = defining_op(operands[0])
        if fields is not None and len(fields) > 1 and owner is not None:
            return operands if location_name(owner.location) else fields
    return operands


def is_projection(op: ir.Operation) -> bool:
    """Whether an operation only takes one of several outputs out of a dataflow block."""
    if op.name != _PROJECTION:
        return False
    source = defining_op(op.operands[0])
    return source is not None and source.name == DATAFLOW and len(outputs(source)) > 1


def canonical(value: ir.Value) -> ir.Value:
    """Return the value inside its dataflow block for one that left it; others unchanged."""
    while True:
        op = defining_op(value)
        if op is None:
            return value
        if op.name == DATAFLOW:
            inner = outputs(op)
            if len(inner) != 1:
                return value
            value = inner[0]
        elif op.name == _PROJECTION and is_projection(op):
            source = defining_op(op.operands[0])
            assert source is not None, "a projection has a dataflow block"
            value = outputs(source)[ir.IntegerAttr(op.attributes["index"]).value]
        else:
            return value


def escaped(value: ir.Value) -> ir.Value | None:
    """Return what a value of a closed dataflow block is called after it, None when it stays."""
    block = home(value)
    dataflow = block.owner.operation
    if dataflow.name != DATAFLOW or not len(dataflow.results):
        return None
    inner = outputs(dataflow)
    if value not in inner:
        return None
    if len(inner) == 1:
        return dataflow.results[0]
    position = inner.index(value)
    for use in dataflow.results[0].uses:
        user = use.owner.operation
        if user.name == _PROJECTION and user.attributes["index"].value == position:
            return user.results[0]
    return None


def is_local(value: ir.Value) -> bool:
    """Whether a value is visible in its dataflow block only (R03)."""
    op = defining_op(value)
    if op is None:
        return False
    parent = op.parent
    if parent is None or parent.operation.name != DATAFLOW:
        return False
    return value not in outputs(parent.operation)


def is_binding(op: ir.Operation) -> bool:
    """Whether an operation is a binding of its block for people."""
    return op.name not in TERMINATORS and not is_leaf(op) and not is_projection(op)
