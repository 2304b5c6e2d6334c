"""The shape of an expression: static, computed, or unknown."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import default_context
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.shape_rules import PREFIX, ShapeCall, ShapeOf, get_op_attr, infer_user_shape
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.leaves import ExternFunc
from relax_mlir.relax.expr.places import canonical, defining_op
from relax_mlir.relax.expr.types import ShapeType, TensorType
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.relax.expr.views import view, view_op


def shape_field(expr: Expr) -> Any:
    """Return the shape of a tensor: a ShapeExpr (V0), another expression (V1), or None (V2).

    Raises:
        ExprTypeError: the expression is no tensor.
    """
    type_ = expr.ty
    if isinstance(type_, ShapeType):
        return expr
    if not isinstance(type_, TensorType):
        raise ExprTypeError(f"only tensors have a shape, this is {type_}")
    if type_.dims is not None or type_.shape_expr is not None:
        return type_.shape
    value = expr.mlir_value
    result = None if value is None else T.shape_field(value).value
    if result is not None:
        return view(result, expr._keep)
    op = None if value is None else defining_op(canonical(value))
    call = expr if op is None else view_op(op, expr._keep)
    return _computed(call) if isinstance(call, Call) else None


def _computed(call: Call) -> Any:
    """Return the call that computes the shape of a call's result, None where no rule says one."""
    name = call.op.mlir_name.removeprefix(PREFIX) if isinstance(call.op, Op) else ""
    cls = COMPUTE_OPS.get(name)
    if get_op_attr(name, "FInferShape") is not None:
        with default_context(), ir.Location.unknown():
            types = [arg.ty.to_mlir() for arg in call.args]
            return _shape_call(infer_user_shape(name, types, call.attrs), call)
    if cls is None or not issubclass(cls, BinaryOp):
        return None
    return Call(Op.get("relax.binary_broadcast"), [arg.shape for arg in call.args])


def _shape_call(rule: Any, call: Call) -> Any:
    """Return what a user's rule gave as an expression of the call's arguments."""
    if isinstance(rule, ShapeOf):
        return call.args[rule.arg.index].shape
    if not isinstance(rule, ShapeCall):
        return None if rule is None else ShapeExpr(getattr(rule, "values", rule))
    args = [_shape_call(arg, call) for arg in rule.args]
    func, op = ExternFunc(rule.func), Op.get("relax.call_pure_packed")
    return Call(op, [func, *args], None, [ShapeType(ndim=rule.ndim)])


def get_shape_of(expr: Expr) -> Any:
    """Return the shape of a tensor as an expression; of one that is not known a call of `shape_of`.

    Raises:
        ExprTypeError: the expression is no tensor.
    """
    result = shape_field(expr)
    return extension("relax.shape_of")(expr) if result is None else result


def shape_kind(expr: Expr) -> str:
    """Return which of the three cases the shape of a tensor is: `"V0"`, `"V1"` or `"V2"`.

    Raises:
        ExprTypeError: the expression is no tensor.
    """
    result = shape_field(expr)
    if result is None:
        return "V2"
    return "V0" if isinstance(result, ShapeExpr) else "V1"
