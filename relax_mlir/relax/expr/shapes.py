"""The shape of an expression: static, computed, or unknown."""

from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.types import ShapeType, TensorType
from relax_mlir.relax.expr.values import ShapeExpr
from relax_mlir.relax.expr.views import view


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
    if value is None:
        return None
    found = T.shape_field(value).value
    if found is None:
        return None
    return view(found, expr._keep)


def get_shape_of(expr: Expr) -> Any:
    """Return the shape of a tensor as an expression; of one that is not known a call of `shape_of`.

    Raises:
        ExprTypeError: the expression is no tensor.
    """
    found = shape_field(expr)
    return extension("relax.shape_of")(expr) if found is None else found


def shape_kind(expr: Expr) -> str:
    """Return which of the three cases the shape of a tensor is: `"V0"`, `"V1"` or `"V2"`.

    Raises:
        ExprTypeError: the expression is no tensor.
    """
    found = shape_field(expr)
    if found is None:
        return "V2"
    return "V0" if isinstance(found, ShapeExpr) else "V1"
