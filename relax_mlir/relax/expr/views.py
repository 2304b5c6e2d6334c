"""Views of MLIR values and operations as expressions."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.leaves import Var, make_var, value_name
from relax_mlir.relax.expr.places import canonical, defining_op, is_leaf, is_local, is_number

# Operation -> class of its view, and "" -> that of all others, a Call. A class here has a slot
# `_op`, and all its fields read it when it is set. The modules of the classes register them.
_VIEWS: dict[str, type[Any]] = {}


def register_view(op_name: str, cls: type[Expr]) -> None:
    """Have operations of that name, "" for all others, appear as expressions of a class."""
    _VIEWS[op_name] = cls


def view_class(op_name: str) -> type[Any]:
    """Return the class of expressions that operations of that name appear as."""
    return _VIEWS.get(op_name) or _VIEWS[""]


def view(value: ir.Value, keep: Any = None) -> Expr:
    """Return the expression that uses of a value see: a variable, or a constant written in place.

    Args:
        value: the MLIR value.
        keep: what keeps the module alive, such as its IRModule; views made from this one keep it.
    """
    op = defining_op(value)
    if op is not None and is_leaf(op):
        return view_op(op, keep, "relax.prim_value" if is_number(op) else op.name)
    return var(value, keep)


def var(value: ir.Value, keep: Any = None) -> Var:
    """Return the variable of a value: a DataflowVar where its dataflow block alone sees it."""
    inner = canonical(value)
    name = value_name(inner) or (value_name(value) if inner != value else "")
    return make_var(value, name, keep, None, is_local(value))


def view_op(op: ir.Operation, keep: Any = None, kind: str = "") -> Expr:
    """Return the expression that an operation computes: the value of its binding.

    Args:
        op: the operation.
        keep: as for `view`.
        kind: the operation that it appears as, where that is another one.
    """
    op = op.operation
    cls = _VIEWS.get(kind or op.name) or _VIEWS[""]
    make: Callable[..., Any] = cls.__new__
    made = make(cls)
    made._op, made._keep, made._ty = op, keep, None
    return made
