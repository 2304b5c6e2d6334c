"""The pass `reorder-permute-dims-after-concat`: one transposition of joined tensors."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.relax import op
from relax_mlir.relax.dpl import is_op, rewrite_in_place, wildcard
from relax_mlir.relax.dpl.matcher import emitted_value
from relax_mlir.relax.expr import Call, Tuple, Var

_CONCAT = is_op("relax.concat")(wildcard())


def reorder_permute_dims_after_concat(module: ir.Operation) -> None:
    """Write `concat(permute_dims(a), permute_dims(b))` as `permute_dims(concat(a, b))`.

    All tensors that are joined must be permuted in the same way.
    """
    for func in functions_to_optimize(module):
        rewrite_in_place(_CONCAT, _rewritten, module, func)


def _rewritten(expr: Any, matched: Any) -> Any:
    joined = _value(expr.args[0])
    parts = [_value(each) for each in joined.fields] if isinstance(joined, Tuple) else []
    if len(parts) < 2 or not all(map(_is_permuted, parts)):
        return expr
    orders = [_axes(each) for each in parts]
    axis = expr.attrs.get("axis")
    axes = orders[0]
    if axes is None or any(each != axes for each in orders) or axis is None:
        return expr
    whole = op.concat([each.args[0] for each in parts], axis=axes[axis % len(axes)])
    return op.permute_dims(whole, parts[0].attrs.get("axes"))


def _value(expr: Any) -> Any:
    while isinstance(expr, Var):
        value = emitted_value(expr)
        if value is None:
            break
        expr = value
    return expr


def _is_permuted(expr: Any) -> bool:
    return isinstance(expr, Call) and getattr(expr.op, "name", "") == "relax.permute_dims"


def _axes(expr: Any) -> list[int] | None:
    """Return which axis of the operand each axis of the result is, None where that is not known."""
    ndim = getattr(expr.args[0].ty, "ndim", -1)
    if ndim < 1:
        return None
    given = expr.attrs.get("axes")
    return list(range(ndim))[::-1] if given is None else [int(each) % ndim for each in given]
