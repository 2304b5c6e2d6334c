"""Tuples, which also carry the arguments of calls.

IRDL gives a variadic operand one constraint variable, and every element must have the very type the
first one had, so no operation of the dialects can take operands of different types. Builtin's
`unrealized_conversion_cast` can: from any values to one `tuple<...>`. It is pure, folds and prints
well, and every tool knows it, so it is our tuple constructor. This is the one place that knows.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir

MAKE_TUPLE = "builtin.unrealized_conversion_cast"


def make_tuple(values: Sequence[ir.Value], loc: ir.Location | None = None) -> ir.Value:
    """Create a tuple of the values at the current insertion point."""
    type_ = ir.TupleType.get_tuple([value.type for value in values])
    return ir.Operation.create(MAKE_TUPLE, results=[type_], operands=list(values), loc=loc).result


def is_make_tuple(op: ir.Operation) -> bool:
    """Whether the operation constructs a tuple."""
    return op.name == MAKE_TUPLE and len(op.results) == 1 and is_tuple(op.results[0].type)


def is_tuple(type_: ir.Type) -> bool:
    """Whether the type is a tuple."""
    return isinstance(type_, ir.TupleType)


def field_types(type_: ir.Type) -> list[ir.Type]:
    """Return the types of a tuple's fields."""
    return [type_.get_type(i) for i in range(type_.num_types)]


def known_fields(value: ir.Value) -> list[ir.Value] | None:
    """Return the values a tuple was constructed from, None when it was not constructed here."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return list(op.operands) if is_make_tuple(op) else None


def get_item(value: ir.Value, index: int) -> ir.Value:
    """Return one field of a tuple: the value it was made from, or a new `relax.tuple_get_item`."""
    fields = known_fields(value)
    if fields is not None:
        return fields[index]
    return ir.Operation.create(
        "relax.tuple_get_item",
        results=[value.type.get_type(index)],
        operands=[value],
        attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)},
    ).result


def call_arguments(op: ir.Operation) -> list[ir.Value]:
    """Return the arguments of a call operation, whose last operand is their tuple.

    Raises:
        ValueError: the tuple is not constructed in the program, which no builder here makes.
    """
    fields = known_fields(op.operands[len(op.operands) - 1])
    if fields is None:
        raise ValueError(f"the arguments of '{op.name}' must be constructed by {MAKE_TUPLE}")
    return fields
