"""Changes of parameters that the passes of this package share."""

from collections.abc import Iterable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.lowering.walk import INNER_FIRST, collect, named
from relax_mlir.relax.expr.places import defining_op, is_leaf
from relax_mlir.transform.relax.rebuild import result_types


def name_of(func: ir.Operation) -> str:
    """Return the name of a function."""
    return ir.StringAttr(func.attributes["sym_name"]).value


def callee(call: ir.Operation) -> str:
    """Return the name of the function that a `relax.call` calls."""
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def body(func: ir.Operation) -> ir.Block:
    """Return the block of a function's body."""
    return func.regions[0].blocks[0]


def end_of(func: ir.Operation) -> ir.Operation:
    """Return what a function ends with."""
    return list(body(func).operations)[-1].operation


def private_functions(module: ir.Operation) -> dict[str, tuple[ir.Operation, list[ir.Operation]]]:
    """Return the private Relax functions of which all uses are calls, with these, by name."""
    functions = {
        name_of(view.operation): view.operation
        for view in module.regions[0].blocks[0].operations
        if "relax.function" in view.operation.attributes
        and "sym_visibility" in view.operation.attributes
    }
    calls: dict[str, list[ir.Operation]] = {name: [] for name in functions}
    others: set[str] = set()

    for op in collect(module, lambda _: True, INNER_FIRST):
        for attribute in op.attributes.values():
            if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in functions:
                if op.name == "relax.call":
                    calls[attribute.value].append(op)
                else:
                    others.add(attribute.value)
    return {
        name: (func, calls[name])
        for name, func in functions.items()
        if calls[name] and name not in others
    }


def param_names(func: ir.Operation) -> list[str]:
    """Return the names of a function's parameters."""
    if "relax.params" in func.attributes:
        return [ir.StringAttr(each).value for each in ir.ArrayAttr(func.attributes["relax.params"])]
    return [
        location_name(argument.location) or f"arg{index}"
        for index, argument in enumerate(body(func).arguments)
    ]


def sign(
    func: ir.Operation, names: Sequence[str], results: Sequence[ir.Type] | None = None
) -> None:
    """Declare the types of a function's arguments, after they have changed.

    Args:
        func: the function.
        names: of its parameters.
        results: the types of its results; by default as they were.
    """
    inputs = [argument.type for argument in body(func).arguments]
    kept = result_types(func) if results is None else list(results)
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, kept))
    func.attributes["relax.params"] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])
    if "arg_attrs" in func.attributes and len(func.attributes["arg_attrs"]) != len(inputs):
        del func.attributes["arg_attrs"]


def users(value: ir.Value) -> list[ir.Operation]:
    """Return the operations that use a value, or an expression in place that it is part of."""
    result: dict[ir.Operation, None] = {}
    for use in value.uses:
        user = use.owner.operation
        if is_leaf(user):
            result.update(dict.fromkeys(users(user.results[0])))
        else:
            result[user] = None
    return list(result)


def replace_in(op: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    """Have an operation, and the expressions that are part of it, use another value."""
    for index, value in enumerate(op.operands):
        if value == old:
            op.operands[index] = new
            continue
        part = defining_op(value)
        if part is not None and is_leaf(part) and old in part.operands:
            replace_in(part, old, new)


def calls_in(module: ir.Operation) -> Iterable[ir.Operation]:
    """Return the calls of Relax functions in a module."""
    return named(module, ("relax.call",))
