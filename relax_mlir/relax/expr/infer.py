"""Types of expressions that are not emitted yet, by the dialect's inference rules."""

from collections.abc import Iterable, Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax.derive import derived_type
from relax_mlir.dialects.relax.infer import broadcast
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.params import given_attribute
from relax_mlir.dialects.relax.type_lattice import join
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.ir.global_info import VDevice
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.blocks import SeqExpr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.compound import If
from relax_mlir.relax.expr.types import (
    FuncType,
    ObjectType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    from_mlir,
    ranked,
)
from relax_mlir.relax.expr.values import DataTypeImm, StringImm, Tuple, tuple_of_types

_TEXTS = (StringImm, DataTypeImm)


def infer_type(expr: Expr) -> Type:
    """Return the type of an expression that has not been emitted.

    Expressions nest as deep as somebody's loop makes them, so nothing here recurses over them.

    Raises:
        ExprError: no run could satisfy the operands.
    """
    waiting = [expr]
    while waiting:
        top = waiting[-1]
        if top._ty is not None:
            waiting.pop()
            continue
        missing = [part for part in _parts(top) if part._ty is None and _is_pending(part)]
        if missing:
            waiting += missing
            continue
        top._ty = _infer(top)
        waiting.pop()
    assert expr._ty is not None, "the loop ends when it is known"
    return expr._ty


def _is_pending(expr: Any) -> bool:
    if isinstance(expr, SeqExpr):
        return expr.mlir_block is None
    return isinstance(expr, (Call, If, Tuple)) and expr.mlir_op is None


def _parts(expr: Any) -> Iterator[Any]:
    if isinstance(expr, Call):
        yield from expr.args
    elif isinstance(expr, Tuple):
        yield from expr.fields
    elif isinstance(expr, If):
        yield from expr._branches
    elif isinstance(expr, SeqExpr):
        yield expr.body


def _infer(expr: Any) -> Type:
    if isinstance(expr, Tuple):
        return tuple_of_types([field.ty for field in expr.fields])
    if isinstance(expr, If):
        left, right = (branch.ty for branch in expr._branches)
        return left if left == right else join_types(left, right)
    if isinstance(expr, SeqExpr):
        return expr.body.ty
    if isinstance(expr, Call):
        return _infer_call(expr)
    return ObjectType()


def _infer_call(call: Call) -> Type:
    if call.ty_args:
        return call.ty_args[0] if len(call.ty_args) == 1 else TupleType(list(call.ty_args))
    op = call.op
    if isinstance(op, Op) and op.name == "relax.shape_of":
        (tensor,) = call.args
        type_ = tensor.ty
        known = isinstance(type_, TensorType)
        return ranked(ShapeType, type_.dims, type_.ndim) if known else ShapeType()
    if isinstance(op, Op) and op.name == "relax.binary_broadcast":
        return _broadcast([arg.ty for arg in call.args])
    if isinstance(op, Op):
        return computation_type(op.mlir_name.removeprefix("relax."), call.args, call.attrs)
    callee = op.ty
    if isinstance(callee, FuncType):
        return _derived(call, callee.derive_func) if callee.derive_func else callee.ret
    return ObjectType() if isinstance(callee, ObjectType) else Type.missing()


def _derived(call: Call, rule: str) -> Type:
    """Return the type of a packed function's result by the rule that its type names."""
    with default_context(), ir.Location.unknown():
        texts = [arg.value if isinstance(arg, _TEXTS) else "" for arg in call.args]
        types = [arg.ty.to_mlir() for arg in call.args]
        try:
            return from_mlir(derived_type(rule, list(zip(types, texts, strict=True))))
        except ValueError as error:
            raise ExprError(f"{call.op}: {error}") from error


def _broadcast(shapes: list[Type]) -> Type:
    """Return the type of the shape that two shapes broadcast to."""
    known = [each for each in shapes if isinstance(each, ShapeType)]
    if len(known) != 2 or len(shapes) != 2:
        raise ExprError(f"binary_broadcast takes two shapes, got {', '.join(map(str, shapes))}")
    lhs, rhs = (ranked(TensorType, each.dims, each.ndim, dtype="bool") for each in known)
    with default_context(), ir.Location.unknown():
        try:
            result = from_mlir(broadcast(lhs.to_mlir(), rhs.to_mlir()))
        except ValueError as error:
            raise ExprError(f"binary_broadcast: {error}") from error
    assert isinstance(result, TensorType), "tensors broadcast to a tensor"
    return ranked(ShapeType, result.dims, result.ndim)


def computation_type(name: str, args: Any, attrs: dict[str, Any]) -> Type:
    """Return the result type of an operation of the dialect's table.

    Raises:
        ExprError: no run could satisfy the operands, or an attribute is wrong.
    """
    cls = COMPUTE_OPS.get(name)
    if cls is None:
        return ObjectType()
    wanted = sum(param.is_operand for param in cls.PARAMS)
    given_types = [arg.ty for arg in args]
    device = common_device(given_types)
    if device is not None:
        given_types = [on_device(type_, None) for type_ in given_types]
    with default_context(), ir.Location.unknown():
        try:
            types = [type_.to_mlir() for type_ in given_types]
            types += [ir.TupleType.get_tuple([])] * (wanted - len(types))
            given = {}
            for param in cls.PARAMS:
                if param.is_operand:
                    continue
                _, given[param.name] = given_attribute(param, attrs)
            result = from_mlir(cls.result_type(types, given))
        except ValueError as error:
            kind = ExprTypeError if isinstance(error, TypeError) else ExprError
            raise kind(f"relax.op.{name}: {error}") from error
    return result if device is None else on_device(result, device)


def join_types(left: Type, right: Type) -> Type:
    """Return the most precise type that both satisfy, an object when there is none of use."""
    with default_context(), ir.Location.unknown():
        joined = join(left.to_mlir(), right.to_mlir())
        return ObjectType() if joined is None else from_mlir(joined)


def _devices(type_: Type) -> Iterator[VDevice]:
    if isinstance(type_, TensorType) and type_.vdevice is not None:
        yield type_.vdevice
    elif isinstance(type_, TupleType):
        for field in type_.fields:
            yield from _devices(field)


def common_device(types: Iterable[Type]) -> VDevice | None:
    """Return the device that operands are on, None where none of them says.

    Raises:
        ExprTypeError: two of them are on different ones.
    """
    result = dict.fromkeys(device for type_ in types for device in _devices(type_))
    if len(result) > 1:
        raise ExprTypeError(f"operands must be on one device, got {', '.join(map(str, result))}")
    return next(iter(result), None)


def on_device(type_: Type, device: VDevice | None) -> Type:
    """Return a type whose tensors are on a device, or on none that is known."""
    if isinstance(type_, TensorType):
        if type_.vdevice == device:
            return type_
        made = TensorType(None, type_.dtype, device, type_.ndim)
        made.dims, made.shape_expr = type_.dims, type_.shape_expr
        return made
    if isinstance(type_, TupleType):
        return TupleType([on_device(field, device) for field in type_.fields])
    return type_
