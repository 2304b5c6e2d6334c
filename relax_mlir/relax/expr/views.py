"""From MLIR to expressions: the view of a value, and of what an operation computes."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.tuples import MAKE_TUPLE
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Call
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.leaves import Var, make_var, value_name
from relax_mlir.relax.expr.places import canonical, defining_op, is_leaf, is_local
from relax_mlir.relax.expr.values import Constant, PrimValue, ShapeExpr, Tuple

# Operation -> class of its view; everything else is a Call. A class here has a slot `_op`, and all
# its fields read it when it is set. `register_view` adds one.
_VIEWS: dict[str, type[Any]] = {
    "relax.constant": Constant,
    "relax.shape_expr": ShapeExpr,
    "relax.prim_value": PrimValue,
    MAKE_TUPLE: Tuple,
    "relax.tuple_get_item": TupleGetItem,
    "relax.if": If,
}


def register_view(op_name: str, cls: type[Expr]) -> None:
    """Have operations of that name appear as expressions of a class with a slot `_op`."""
    _VIEWS[op_name] = cls


def view_class(op_name: str) -> type[Any]:
    """Return the class of expressions that operations of that name appear as."""
    return _VIEWS.get(op_name, Call)


def view(value: ir.Value, keep: Any = None) -> Expr:
    """Return the expression that uses of a value see: a variable, or a constant written in place.

    Args:
        value: the MLIR value.
        keep: what keeps the module alive, such as its IRModule; views made from this one keep it.
    """
    op = defining_op(value)
    if op is not None and is_leaf(op):
        return view_op(op, keep)
    return var(value, keep)


def var(value: ir.Value, keep: Any = None) -> Var:
    """Return the variable of a value: a DataflowVar where its dataflow block alone sees it."""
    inner = canonical(value)
    name = value_name(inner) or (value_name(value) if inner != value else "")
    return make_var(value, name, keep, None, is_local(value))


def view_op(op: ir.Operation, keep: Any = None) -> Expr:
    """Return the expression that an operation computes: the value of its binding."""
    op = op.operation
    cls = _VIEWS.get(op.name, Call)
    make: Callable[..., Any] = cls.__new__
    made = make(cls)
    made._op, made._keep, made._ty = op, keep, None
    return made
