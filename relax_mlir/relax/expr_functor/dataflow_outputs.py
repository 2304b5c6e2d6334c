"""More outputs for a dataflow block that is there already."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.relax.expr import Var
from relax_mlir.relax.expr.places import escaped, outputs, terminator
from relax_mlir.relax.expr_functor.edit import erase

_FIELD = "relax.tuple_get_item"


def add_outputs(edit: Any, op: ir.Operation, variables: list[Var]) -> None:
    """Have variables leave a dataflow block; each is known outside from then on.

    Args:
        edit: the function under change.
        op: the block's operation as it was.
        variables: variables bound in the block.
    """
    old = edit.op(op)
    before = outputs(old)
    new = [var for var in variables if var._value not in before]
    own = (var._value for var in new if var._value is not None)
    values = list(dict.fromkeys([*before, *own]))
    if len(values) > len(before):
        _rebuild(edit, op, old, before, values)
    for var in variables:
        outside = None if var._value is None else escaped(var._value)
        if outside is not None:
            var._value = outside


def _rebuild(
    edit: Any, op: ir.Operation, old: ir.Operation, before: list[ir.Value], values: list[ir.Value]
) -> None:
    block = old.regions[0].blocks[0]
    end = terminator(block)
    assert end is not None, "checked by the verifier"
    place = nameless(old.location)
    with ir.InsertionPoint(end), place:
        given = values if len(values) == 1 else [make_tuple(values, place)]
        ir.Operation.create("relax.output", operands=given, loc=place)
        erase(end)
    with ir.InsertionPoint(old), place:
        made = ir.Operation.create("relax.dataflow", results=[given[0].type], regions=1, loc=place)
    block.append_to(made.regions[0])
    edit.moved_dataflow(op, made)
    result = outside = made.results[0]
    uses = list(old.results[0].uses) if len(before) > 1 else []
    fields = [user for use in uses if (user := use.owner.operation).name == _FIELD]
    known = {ir.IntegerAttr(user.attributes["index"]).value for user in fields}
    last = made
    for user in fields:
        last = user if last.is_before_in_block(user) else last
    if len(values) > 1:
        for index, value in enumerate(values):
            if index not in known:
                with ir.InsertionPoint(old), place:
                    field = _field(result, index, value)
                field.move_after(last)
                last = field
                if len(before) == 1 and index == 0:
                    outside = field.results[0]
    if len(old.results):
        old.results[0].replace_all_uses_with(outside)
    old.erase()


def _field(value: ir.Value, index: int, inner: ir.Value) -> ir.Operation:
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
    return ir.Operation.create(
        _FIELD, results=[inner.type], operands=[value], attributes={"index": number},
        loc=inner.location,
    )  # fmt: skip
