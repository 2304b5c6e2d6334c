"""Calls with explicit result types: prim funcs, packed functions, closures."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.tuples import is_tuple, known_fields
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError, wrong_count
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.relax.builder.frames import bind_symbols
from relax_mlir.relax.builder.functions import function_name
from relax_mlir.relax.builder.lambdas import lambda_of, result_type
from relax_mlir.relax.builder.purity import is_pure
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.functions import PrimFunc
from relax_mlir.relax.expr.leaves import ExternFunc, GlobalVar
from relax_mlir.relax.expr.types import FuncType, TensorType, TupleType
from relax_mlir.relax.expr.values import Tuple

_Maker = Callable[[Any, Call, list[ir.Value], ir.Location], ir.Value]


def make_call(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    """Create a call that is no computation of the table.

    Raises:
        BuilderError: it may have effects and stands in a dataflow block.
        ExprError: its arguments do not fit what it calls.
    """
    op = call.op
    if isinstance(op, GlobalVar):
        return _function(m, call, operands, loc)
    if isinstance(op, ExternFunc):
        return _packed(m, call, operands, loc)
    if isinstance(op, Op):
        make = _FORMS.get(op.mlir_name)
        return (make or _other)(m, call, operands, loc)
    return _closure(m, call, operands, loc)


def _result(m: Any, call: Call) -> ir.Type:
    types = call.sinfo_args
    with m._builder.unknown:
        if not types:
            return T.object_type()
        return types[0].to_mlir() if len(types) == 1 else TupleType(list(types)).to_mlir()


def _function(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    assert isinstance(call.op, GlobalVar), "the caller looked"
    name = call.op.name_hint
    func = m._builder._find(name)
    with m._builder.unknown:
        attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(name)}
        if func is not None:
            result = _function_result(name, func, operands)
            pure = is_pure(func)
        else:
            declared = call.op.ty
            known = call.sinfo_args or (
                (declared.ret,) if isinstance(declared, FuncType) else ()
            )  # fmt: skip
            result = known[0].to_mlir() if known else T.object_type()
            pure = False
        if pure:
            attributes["pure"] = ir.UnitAttr.get()
    if not pure:
        m._builder._require_effects(f"a call of '{name}'")
    return m.create("relax.call", [m.part_tuple(operands, loc)], result, loc, **attributes).result


def _function_result(name: str, func: ir.Operation, operands: list[ir.Value]) -> ir.Type:
    from relax_mlir.script.relax_parser.calls import instantiate

    if "tir.prim_func" in func.attributes:
        raise ExprError(f"'{name}' is a prim func; call it by relax.op.call_tir")
    signature = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    wanted, given = list(signature.inputs), [operand.type for operand in operands]
    if len(wanted) != len(given):
        raise ExprError(wrong_count(f"'{name}'", len(wanted), len(given)))
    for index, (parameter, argument) in enumerate(zip(wanted, given, strict=True)):
        if not compatible(parameter, argument, same_symbols=False):
            raise ExprError(
                f"argument {index} of '{name}' must be {describe(parameter)}, "
                f"got {describe(argument)}"
            )
    return instantiate(signature.results[0], wanted, given)


def _packed(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    assert isinstance(call.op, ExternFunc), "the caller looked"
    result = _result(m, call)
    if not call.ty_args and getattr(call.op.ty, "derive_func", None):
        with m._builder.unknown:
            result = call.ty.to_mlir()
    pure = m._builder.current_block_is_dataflow() and isinstance(result, Shape)
    if not pure:
        # A packed function that returns a shape is a shape function, which has no effects.
        m._builder._require_effects(f"call_packed('{call.op.global_symbol}')")
    name = "relax.call_pure_packed" if pure else "relax.call_packed"
    return _by_name(m, name, call.op, operands, result, loc, _attributes(m, call))


def _pure_packed(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    name = call.op.mlir_name  # type: ignore[attr-defined]
    return _by_name(m, name, call.args[0], operands, _result(m, call), loc, _attributes(m, call))


def _by_name(
    m: Any, op: str, func: ExternFunc, operands: list[ir.Value], result: ir.Type, loc: ir.Location,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:  # fmt: skip
    with m._builder.unknown:
        name = ir.StringAttr.get(func.global_symbol)
    operand = m.part_tuple(operands, loc)
    return m.create(op, [operand], result, loc, func=name, **(attributes or {})).result


def _attributes(m: Any, call: Call) -> dict[str, ir.Attribute]:
    """Return the attributes of a call of a packed function."""
    with m._builder.unknown:
        words = {key: python_attribute(value) for key, value in call.attrs.items()}
    return {**words, **_inplace(m, call)}


def _inplace(m: Any, call: Call) -> dict[str, ir.Attribute]:
    """Return which arguments a call overwrites, as the attribute of the calls that do."""
    if "inplace_indices" not in call.attrs:
        return {}
    with m._builder.unknown:
        indices = list(call.attrs["inplace_indices"])
        return {"inplace_indices": ir.DenseI64ArrayAttr.get(indices)}


def _other(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    """Create an operation without a form of its own, whose attributes are words."""
    op = call.op
    assert isinstance(op, Op), "the caller looked"
    if not call.sinfo_args:
        raise ExprTypeError(f"{op!r} cannot be emitted as a call: the type of its result is needed")
    with m._builder.unknown:
        attributes = {}
        for name, value in call.attrs.items():
            if not isinstance(value, str):
                raise ExprTypeError(f"{op!r} cannot be emitted with attribute '{name}', {value!r}")
            attributes[name] = ir.StringAttr.get(value)
    return m.create(op.mlir_name, operands, _result(m, call), loc, **attributes).result


def _destination(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    """Create `call_tir` or `call_dps_packed`; the operand is the tuple of arguments."""
    if len(call.sinfo_args) != 1:
        raise ExprTypeError(f"{call.op!r} takes one type, that of its output, as sinfo_args")
    (type_,) = call.sinfo_args
    place = nameless(loc)
    wanted = type_.fields if isinstance(type_, TupleType) else (type_,)
    shapes = []
    for field, given in zip(wanted, _given_shapes(call, len(wanted)), strict=True):
        if not isinstance(field, TensorType):
            raise ExprTypeError(f"the output must be a tensor, got {field}")
        if given is not None:
            shapes.append(m.value(given, None, place))
        elif field.dims is not None:
            shapes.append(m.shape(field.dims, place))
        elif field.shape_expr is not None:
            shapes.append(m.value(field.shape_expr, None, place))
        else:
            raise ExprError(f"the shape of the output must be known, got {field}")
    many = isinstance(type_, TupleType)
    shape = m.part_tuple(shapes, loc) if many else shapes[0]
    func = call.args[0]
    if isinstance(func, PrimFunc):
        func = m._builder.add_func(func, function_name(func))
    with m._builder.unknown:
        result = type_.to_mlir()
        attributes = _inplace(m, call)
        if isinstance(func, GlobalVar):
            attributes["callee"] = ir.FlatSymbolRefAttr.get(func.name_hint)
        else:
            attributes["func"] = ir.StringAttr.get(func.global_symbol)
        if "tir_vars" in call.attrs:
            attributes["tir_vars"] = Dims.of(call.attrs["tir_vars"])
        for key in ("te_grad_name", "te_grad_kwargs"):
            if key in call.attrs:
                attributes[key] = python_attribute(call.attrs[key])
    arguments = operands[0]
    if known_fields(arguments) is None:
        # A tuple that somebody else made: calls have their tuples made in place.
        arguments = m.part_tuple(m._builder._fields(arguments, place), loc)
    return m.create(call.op.mlir_name, [shape, arguments], result, loc, **attributes).result  # type: ignore[attr-defined]


def _given_shapes(call: Call, count: int) -> list[Any]:
    """Return the shape values of a view of a call where they are no constants."""
    if call.mlir_op is None:
        return [None] * count
    value = call._operands([call.mlir_op.operands[0]])[0]
    result = list(value.fields) if isinstance(value, Tuple) else [value]
    return result if len(result) == count else [None] * count


def _shape_of(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    type_ = operands[0].type
    if not T.is_tensor(type_):
        raise ExprTypeError(f"only tensors have a shape, this is {describe(type_)}")
    with m._builder.unknown:
        result = T.shape_type(T.tensor_dims(type_), T.tensor_ndim(type_))
    return m.create("relax.shape_of", operands, result, loc).result


def _binary_broadcast(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    with m._builder.unknown:
        result = call.ty.to_mlir()
    func = ExternFunc("vm.builtin.binary_broadcast")
    return _by_name(m, "relax.call_pure_packed", func, operands, result, loc)


def _make_closure(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    captured = operands[0] if is_tuple(operands[0].type) else m.part_tuple(operands, loc)
    with m._builder.unknown:
        callee = ir.FlatSymbolRefAttr.get(call.args[0].name_hint)
        result = T.object_type()
    return m.create("relax.make_closure", [captured], result, loc, callee=callee).result


def _closure(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    closure, *arguments = operands
    known = lambda_of(closure)
    pure = known is not None and is_pure(known)
    if not pure:
        m._builder._require_effects("a call of a function value")
    if str(closure.type) != "!relax.object":
        raise ExprTypeError(f"{call.op!r} of type {describe(closure.type)} cannot be called")
    with m._builder.unknown:
        result = _result(m, call)
        if known is not None and not call.sinfo_args:
            result = result_type(known, arguments)
        attributes = {"pure": ir.UnitAttr.get()} if pure else {}
    operands = [closure, m.part_tuple(arguments, loc)]
    return m.create("relax.invoke_closure", operands, result, loc, **attributes).result


def _match_cast(m: Any, call: Call, operands: list[ir.Value], loc: ir.Location) -> ir.Value:
    return match_cast(m, operands[0], _result(m, call), loc)


def match_cast(m: Any, value: ir.Value, type_: ir.Type, loc: ir.Location) -> ir.Value:
    """Create `relax.match_cast`.

    Raises:
        ExprError: it cannot succeed.
    """
    if not compatible(type_, value.type):
        raise ExprError(
            f"this match_cast cannot succeed: value is {describe(value.type)}, pattern "
            f"{describe(type_)}"
        )
    bind_symbols(m._builder._frame(), [type_])
    return m.create("relax.match_cast", [value], type_, loc).result


_FORMS: dict[str, _Maker] = {
    "relax.call_tir": _destination,
    "relax.call_tir_inplace": _destination,
    "relax.call_dps_packed": _destination,
    "relax.call_dps_packed_inplace": _destination,
    "relax.call_inplace_packed": _pure_packed,
    "relax.call_pure_packed": _pure_packed,
    "relax.binary_broadcast": _binary_broadcast,
    "relax.shape_of": _shape_of,
    "relax.make_closure": _make_closure,
    "relax.match_cast": _match_cast,
}

__all__ = ["BuilderError", "make_call", "match_cast"]
