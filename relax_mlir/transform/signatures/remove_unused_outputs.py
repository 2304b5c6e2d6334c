"""The pass `remove-unused-outputs`: private functions return what is used of a tuple."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax.tuples import field_types, get_item, is_tuple, make_tuple
from relax_mlir.relax.expr_functor.edit import erase_unused
from relax_mlir.transform.relax.dead_code_elimination import remove_unused
from relax_mlir.transform.signatures.parameters import (
    end_of,
    param_names,
    private_functions,
    sign,
)


def remove_unused_outputs(module: ir.Operation) -> None:
    """Take fields out of the tuples that private functions return which no caller uses.

    Of one field that is left the function returns that alone.
    """
    for func, calls in private_functions(module).values():
        end = end_of(func)
        value = end.operands[0]
        if not is_tuple(value.type):
            continue
        used: set[int] = set()
        for call in calls:
            users = [use.owner.operation for use in call.results[0].uses]
            if any(user.name != "relax.tuple_get_item" for user in users):
                used = set(range(value.type.num_types))
                break
            used |= {user.attributes["index"].value for user in users}
        kept = sorted(used)
        if not kept or len(kept) == value.type.num_types:
            continue
        with ir.InsertionPoint(end), nameless(end.location):
            fields = [get_item(value, index) for index in kept]
            end.operands[0] = fields[0] if len(fields) == 1 else make_tuple(fields)
        erase_unused(value)
        sign(func, param_names(func), [end.operands[0].type])
        remove_unused(func)
        for call in calls:
            _shorten(call, kept)


def _shorten(call: ir.Operation, kept: list[int]) -> None:
    """Have a call return the fields that are left, in the types that the caller knows of them."""
    types = field_types(call.results[0].type)
    left = [types[index] for index in kept]
    users = [use.owner.operation for use in call.results[0].uses]
    call.results[0].set_type(left[0] if len(left) == 1 else ir.TupleType.get_tuple(left))
    for user in users:
        position = kept.index(user.attributes["index"].value)
        if len(left) == 1:
            user.results[0].replace_all_uses_with(call.results[0])
            user.erase()
        else:
            index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
            user.attributes["index"] = index
