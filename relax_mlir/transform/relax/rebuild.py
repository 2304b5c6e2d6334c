"""Small rewrites of Relax IR that several passes share."""

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.tuples import field_types, is_make_tuple, known_fields
from relax_mlir.dialects.relax.well_formed import type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.relax.analysis.symbols import symbols_in


def symbols_of(op: ir.Operation) -> set[str]:
    """Return the symbols that an operation's results and attributes mention."""
    return set(symbols_in(op))


def takes_arguments(name: str) -> bool:
    """Whether an operation's last operand is a tuple of arguments, made in place."""
    return name.startswith("relax.call") or name in ("relax.invoke_closure", "relax.make_closure")


def replace_output(block: ir.Block, name: str, values: Sequence[ir.Value]) -> None:
    """Give a block another terminator of that name, with these values."""
    old = list(block.operations)[-1].operation
    with ir.InsertionPoint(block), old.location:
        old.erase()
        ir.Operation.create(name, operands=list(values))


def keep_results(op: ir.Operation, types: Sequence[ir.Type]) -> ir.Operation:
    """Rebuild an operation with results of other types, its regions moved into the new one."""
    attributes = dict(op.attributes.items())
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.name,
            results=list(types),
            operands=list(op.operands),
            attributes=attributes,
            regions=len(op.regions),
            loc=op.location,
        )
    for source, target in zip(op.regions, new.regions, strict=True):
        for block in list(source.blocks):
            block.append_to(target)
    for old, result in zip(op.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    op.erase()
    return new


def erase_with_arguments(op: ir.Operation) -> None:
    """Erase a call, and the tuple of its arguments where nothing else uses it."""
    arguments = op.operands[len(op.operands) - 1]
    op.erase()
    if next(iter(arguments.uses), None) is None and known_fields(arguments) is not None:
        arguments.owner.operation.erase()


def retype(value: ir.Value, type_: ir.Type) -> None:
    """Give a value another type, and the tuples made from it and their fields with it."""
    value.set_type(type_)
    for use in list(value.uses):
        user = use.owner.operation
        if is_make_tuple(user):
            fields = [operand.type for operand in user.operands]
            retype(user.results[0], ir.TupleType.get_tuple(fields))
        elif user.name == "relax.tuple_get_item" and isinstance(type_, ir.TupleType):
            retype(user.results[0], field_types(type_)[user.attributes["index"].value])


def substitute_type(type_: ir.Type, values: Mapping[str, SymExpr]) -> ir.Type:
    """Return a type with symbols replaced by expressions."""
    if isinstance(type_, ir.TupleType):
        return ir.TupleType.get_tuple([substitute_type(t, values) for t in field_types(type_)])
    if T.is_tensor(type_):
        dims = T.tensor_dims(type_)
        if dims is not None:
            return T.tensor_type([dim.substitute(values) for dim in dims], T.tensor_dtype(type_))
    elif isinstance(type_, Shape):
        dims = T.shape_dims(type_)
        if dims is not None:
            return T.shape_type([dim.substitute(values) for dim in dims])
    return type_


def bound_by_arguments(block: ir.Block) -> set[str]:
    """Return the symbols that a block's arguments bind, of a function or a lambda."""
    return bound_symbols(dim for arg in block.arguments for dim in type_dims(arg.type))


def result_types(func: ir.Operation) -> list[ir.Type]:
    """Return the declared result types of a function."""
    return list(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)


def set_result_types(func: ir.Operation, types: Sequence[ir.Type]) -> None:
    """Declare other result types."""
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    new = ir.FunctionType.get(signature.inputs, list(types))
    func.attributes["function_type"] = ir.TypeAttr.get(new)
