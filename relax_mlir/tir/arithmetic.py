"""Making scalar expressions: conversion, promotion, folding of what is known already."""

import operator
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.relax.conditions import Condition
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir import nodes as N
from relax_mlir.tir.dtypes import SIZE, checked, is_float, promoted
from relax_mlir.tir.prim_expr import FloatImm, IntImm, PrimExpr, Size

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
_CONDITIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le"}


def as_expr(value: Any, like: str = "") -> PrimExpr:
    """Return a value as an expression; a Python number takes the dtype `like` where it can.

    Raises:
        ExprTypeError: it is no number.
        ExprError: it does not fit its dtype.
    """
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, SymExpr):
        return Size(value) if value.value is None else IntImm(SIZE, value.value)
    if isinstance(value, Condition):
        return binary(_CONDITIONS[value.kind], as_expr(value.lhs), as_expr(value.rhs))
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return const(value.item(), value.dtype)
    if isinstance(value, bool):
        return const(value, like or "bool")
    if isinstance(value, int):
        return const(value, like if like and like != "bool" else "int32")
    if isinstance(value, float):
        return const(value, like if is_float(like) else "float32")
    if hasattr(value, "op") and hasattr(value, "value_index"):
        if value.shape:
            raise ExprTypeError(
                f"'{value.name}' is a tensor of {len(value.shape)} dimensions; index it, as in "
                f"{value.name}[{', '.join('ij'[: len(value.shape)])}]"
            )
        return value[()]
    if hasattr(value, "__index__"):
        return as_expr(value.__index__(), like)
    raise ExprTypeError(f"{value!r} is no scalar expression, but {type(value).__name__}")


def const(value: Any, dtype: Any = None) -> PrimExpr:
    """Return a number of a dtype; without one int32, float32 or bool, as it is written.

    Raises:
        ExprError: the dtype does not have it.
    """
    if dtype is None:
        return as_expr(value)
    dtype = checked(dtype)
    if is_float(dtype):
        try:
            return FloatImm(dtype, float(value))
        except OverflowError as error:
            raise ExprError(f"{value} does not fit {dtype}") from error
        except (TypeError, ValueError) as error:
            raise ExprTypeError(f"tir.const takes a number, got {value!r}") from error
    if isinstance(value, float) and not value.is_integer():
        raise ExprError(f"{value} is not of dtype {dtype}")
    if dtype == "bool":
        value = bool(value)
    try:
        return IntImm(dtype, int(value))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ExprError):
            raise
        raise ExprTypeError(f"tir.const of {dtype} takes an integer, got {value!r}") from error


def cast(value: Any, dtype: Any) -> PrimExpr:
    """Return a value converted to a dtype; numbers are converted now."""
    dtype = checked(dtype)
    value = as_expr(value)
    if value.dtype == dtype:
        return value
    if isinstance(value, IntImm) and (is_float(dtype) or _fits(value.value, dtype)):
        return const(value.value, dtype)
    if isinstance(value, FloatImm) and is_float(dtype):
        return FloatImm(dtype, value.value)
    return N.Cast(dtype, value)


def _fits(value: int, dtype: str) -> bool:
    try:
        IntImm(dtype, value)
    except ExprError:
        return False
    return True


def matched(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands in one dtype: numbers take the other's, then TVM's promotion.

    Raises:
        ExprTypeError: one of them is no number, or no dtype holds both.
    """
    plain = [type(x) in (bool, int, float) for x in (a, b)]
    if plain[0] and not plain[1]:
        b = as_expr(b)
        a = as_expr(a, b.dtype)
    elif plain[1] and not plain[0]:
        a = as_expr(a)
        b = as_expr(b, a.dtype)
    elif plain[0] and float in (type(a), type(b)):
        a, b = const(float(a), "float32"), const(float(b), "float32")
    a, b = as_expr(a), as_expr(b)
    dtype = promoted(a.dtype, b.dtype)
    return cast(a, dtype), cast(b, dtype)


def condition(value: Any, where: str) -> PrimExpr:
    """Return a value that must be a bool.

    Raises:
        ExprTypeError: it is none.
    """
    expr = as_expr(value)
    if expr.dtype != "bool":
        raise ExprTypeError(f"{where} needs a condition of dtype bool, got {expr} of {expr.dtype}")
    return expr


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
        if dtype == "bool" or (x.dtype != "bool" and _fits(int(value), dtype)):
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
