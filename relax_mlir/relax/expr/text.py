"""One-line text of expressions for messages."""

from typing import Any

from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.call import Call, Op
from relax_mlir.relax.expr.compound import If, TupleGetItem
from relax_mlir.relax.expr.functions import BaseFunc
from relax_mlir.relax.expr.leaves import ExternFunc, GlobalVar, Var
from relax_mlir.relax.expr.values import (
    Constant,
    DataTypeImm,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
)

_DEEPEST = 4
_MAX_FIELDS = 12


def expr_text(expr: Any, depth: int = 0) -> str:
    """Return an expression as script would have it; parts that are too deep are `...`."""
    if depth > _DEEPEST:
        return "..."
    if isinstance(expr, (Var, GlobalVar, ExternFunc)):
        return expr.name_hint or "_"
    if isinstance(expr, Op):
        return expr.name.replace("relax.", "R.", 1)
    if isinstance(expr, Constant):
        data = expr.data
        if data.size == 1 and data.ndim == 0:
            return f'R.const({data.item()!r}, "{expr.dtype}")'
        return f"R.const(<{expr.ty}>)"
    if isinstance(expr, ShapeExpr):
        return f"R.shape([{', '.join(map(str, expr.values))}])"
    if isinstance(expr, PrimValue):
        return str(expr.value)
    if isinstance(expr, (StringImm, DataTypeImm)):
        return repr(expr.value)
    if isinstance(expr, Tuple):
        return _sequence(expr.fields, depth)
    if isinstance(expr, Call):
        attrs = [f"{key}={value!r}" for key, value in expr.attrs.items()]
        items = [*(expr_text(arg, depth + 1) for arg in expr.args), *attrs]
        return f"{expr_text(expr.op, depth + 1)}({', '.join(items)})"
    if isinstance(expr, TupleGetItem):
        return f"{expr_text(expr.tuple_value, depth + 1)}[{expr.index}]"
    if isinstance(expr, If):
        return f"If({expr_text(expr.cond, depth + 1)}, ...)"
    if isinstance(expr, BaseFunc):
        return f"<{type(expr).__name__} {expr.name}".rstrip() + ">"
    return f"<{type(expr).__name__}>"


def _sequence(items: Any, depth: int) -> str:
    shown = [expr_text(item, depth + 1) for item in items[:_MAX_FIELDS]]
    if len(items) > _MAX_FIELDS:
        shown.append("...")
    return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def binding_text(binding: Any) -> str:
    """Return a binding as a line of script."""
    var: Expr | None = binding.var
    left = "_" if var is None else f"{expr_text(var)}: {var.ty}"
    value = expr_text(binding.value)
    type_ = getattr(binding, "ty", None)
    return f"{left} = {value if type_ is None else f'R.match_cast({value}, {type_})'}"
