"""The pass `expand-tuple-arguments`: private functions take the fields of tuples."""

import functools
from collections.abc import Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax.tuples import (
    call_arguments,
    field_types,
    get_item,
    is_tuple,
    make_tuple,
)
from relax_mlir.relax.expr_functor.edit import erase, erase_unused
from relax_mlir.transform.signatures.parameters import body, param_names, private_functions, sign


def expand_tuple_arguments(module: ir.Operation) -> None:
    """Replace parameters of private functions that are tuples by their fields, at all depths."""
    for func, calls in private_functions(module).values():
        block = body(func)
        arguments = list(block.arguments)
        if not any(is_tuple(argument.type) for argument in arguments):
            continue
        paths: list[tuple[int, tuple[int, ...]]] = []
        names = []
        for number, (argument, name) in enumerate(zip(arguments, param_names(func), strict=True)):
            parts = {
                path: block.add_argument(type_, argument.location)
                for path, type_ in _leaves(argument.type)
            }
            paths += [(number, path) for path in parts]
            names += ["_".join([name, *map(str, path)]) for path in parts]
            with ir.InsertionPoint.at_block_begin(block), nameless(func.location):
                whole = _whole(argument.type, (), parts)
            argument.replace_all_uses_with(whole)
            _take_fields(whole)
        for number in reversed(range(len(arguments))):
            block.erase_argument(number)
        sign(func, names)
        for call in calls:
            given = call_arguments(call)
            with ir.InsertionPoint(call), nameless(call.location):
                parts_given = [functools.reduce(get_item, path, given[n]) for n, path in paths]
                old = call.operands[0]
                call.operands[0] = make_tuple(parts_given)
            erase_unused(old)


def _leaves(type_: ir.Type) -> list[tuple[tuple[int, ...], ir.Type]]:
    if not is_tuple(type_):
        return [((), type_)]
    return [
        ((index, *path), leaf)
        for index, field in enumerate(field_types(type_))
        for path, leaf in _leaves(field)
    ]


def _whole(
    type_: ir.Type, path: tuple[int, ...], parts: Mapping[tuple[int, ...], ir.Value]
) -> ir.Value:
    if not is_tuple(type_):
        return parts[path]
    fields = enumerate(field_types(type_))
    return make_tuple([_whole(field, (*path, index), parts) for index, field in fields])


def _take_fields(value: ir.Value) -> None:
    """Have what takes a field of a tuple use that field; erase the tuple if nothing else does."""
    if not is_tuple(value.type):
        return
    for use in list(value.uses):
        user = use.owner.operation
        if user.name == "relax.tuple_get_item":
            with ir.InsertionPoint(user):
                field = get_item(value, user.attributes["index"].value)
            user.results[0].replace_all_uses_with(field)
            user.erase()
            _take_fields(field)
    if not list(value.uses):
        erase(value.owner.operation)
