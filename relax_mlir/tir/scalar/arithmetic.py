"""Arithmetic of scalar expressions: promotion and constant folding."""

import operator
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.scalar import nodes as N
from relax_mlir.tir.scalar.conversion import as_expr, const, fits, matched
from relax_mlir.tir.scalar.dtypes import SIZE, is_float
from relax_mlir.tir.scalar.prim_expr import IntImm, PrimExpr, Size

_NODES: dict[str, type[N.BinaryExpr]] = {
    cls.KIND: cls
    for cls in (
        N.Add, N.Sub, N.Mul, N.Div, N.Mod, N.FloorDiv, N.FloorMod, N.Min, N.Max, N.LT, N.LE, N.GT,
        N.GE, N.EQ, N.NE, N.And, N.Or,
    )
}  # fmt: skip
_BITWISE = ("and", "or", "xor", "shl", "shr")
_DIVISIONS = ("div", "truncmod", "floordiv", "mod")


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_FOLD: dict[str, Callable[[int, int], int | bool]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "div": _truncated, "truncmod": lambda a, b: a - _truncated(a, b) * b,
    "min": min, "max": max, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_FOLD_SIZES: dict[str, Callable[[SymExpr, SymExpr], SymExpr]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": lambda a, b: a.min(b),
    "max": lambda a, b: a.max(b),
}


def binary(kind: str, a: Any, b: Any) -> PrimExpr:
    """Apply an operation of the dialect to two operands.

    Args:
        kind: its name there, such as `add`; `truediv` is `/`.
        a: the left operand.
        b: the right operand.

    Raises:
        ExprTypeError: the operands do not go together, or have no such operation.
        ExprError: a division by the constant 0.
    """
    x, y = matched(a, b)
    dtype = x.dtype
    if kind == "truediv":
        kind = "div"
        if not is_float(dtype):
            raise ExprTypeError(
                f"'/' of {dtype} could mean two things: use // (tir.floordiv) or tir.truncdiv, or "
                "cast to a float"
            )
    if kind in _BITWISE:
        return _bitwise(kind, x, y)
    if kind in _DIVISIONS and isinstance(y, IntImm) and y.value == 0:
        raise ExprError(f"{a!r} is divided by zero")
    folded = _folded(kind, x, y)
    return _NODES[kind](x, y) if folded is None else folded


def _bitwise(kind: str, x: PrimExpr, y: PrimExpr) -> PrimExpr:
    if is_float(x.dtype):
        raise ExprTypeError(f"bitwise operations need integers or bools, got {x.dtype}")
    if x.dtype == "bool" and kind in ("and", "or"):
        return _NODES[kind](x, y)
    return N.Call(x.dtype, kind, [x, y])


def _folded(kind: str, x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    """Return what integers and sizes give now; what is only added or multiplied falls away."""
    dtype = "bool" if issubclass(_NODES[kind], N.CmpExpr) else x.dtype
    if isinstance(x, IntImm) and isinstance(y, IntImm) and kind in _FOLD:
        if x.dtype == "bool" and dtype == "bool" and kind not in ("eq", "ne", "min", "max"):
            return None
        value = _FOLD[kind](x.value, y.value)
        if dtype == "bool" or (x.dtype != "bool" and fits(int(value), dtype)):
            return const(value, dtype)
        return None
    sizes = [_size(each) for each in (x, y)]
    if sizes[0] is not None and sizes[1] is not None and kind in _FOLD_SIZES:
        return as_expr(_FOLD_SIZES[kind](sizes[0], sizes[1]))
    if isinstance(y, IntImm) and x.dtype != "bool":
        if (kind, y.value) in (("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1), ("div", 1)):
            return x
        if (kind, y.value) == ("mul", 0) or (kind, y.value) == ("mod", 1):
            return IntImm(dtype, 0)
    if isinstance(x, IntImm) and y.dtype != "bool":
        if (kind, x.value) in (("add", 0), ("mul", 1)):
            return y
        if (kind, x.value) == ("mul", 0):
            return IntImm(dtype, 0)
    return None


def _size(expr: PrimExpr) -> SymExpr | None:
    if isinstance(expr, Size):
        return expr.expr
    if isinstance(expr, IntImm) and expr.dtype == SIZE:
        return SymExpr.const(expr.value)
    return None
