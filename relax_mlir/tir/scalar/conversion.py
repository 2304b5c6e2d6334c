"""Conversion of values to scalar expressions: promotion, casts."""

import operator
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.conditions import Condition
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.tir.scalar.dtypes import SIZE, checked, is_dtype, is_float, promoted
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm, PrimExpr, Size

_CONDITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
}


class Cast(PrimExpr):
    """A conversion: towards zero from float to integer, modulo 2^n between integers."""

    __slots__ = ("value",)

    value: PrimExpr

    def __init__(self, dtype: str, value: Any) -> None:
        self.dtype: str = checked(dtype)
        self.value: PrimExpr = as_expr(value)

    @property
    def operands(self) -> tuple[PrimExpr, ...]:
        """The expressions that this one is made of."""
        return (self.value,)

    def as_size(self) -> SymExpr | None:
        """Return the size that is converted to what sizes are."""
        return self.value.as_size() if self.dtype == SIZE else None

    def __repr__(self) -> str:
        return f"Cast({self.dtype!r}, {self.value!r})"


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
        return _CONDITIONS[value.kind](as_expr(value.lhs), as_expr(value.rhs))
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
    if isinstance(value, IntImm) and (is_float(dtype) or fits(value.value, dtype)):
        return const(value.value, dtype)
    if isinstance(value, FloatImm) and is_float(dtype):
        return FloatImm(dtype, value.value)
    return Cast(dtype, value)


def fits(value: int, dtype: str) -> bool:
    """Whether an integer dtype holds a number."""
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


def called(name: str, args: tuple[Any, ...], other: Any) -> Any:
    """Return the scalar that `T.name(*args)` means outside of scripts, `other` for none.

    Args:
        name: a dtype, or a function of `tir`.
        args: what it is called with.
        other: what stands for a name of the script language that makes no scalar.
    """
    if not all(isinstance(arg, (PrimExpr, SymExpr, int, float)) for arg in args):
        return other
    if is_dtype(name):
        return const(args[0], name) if isinstance(args[0], (int, float)) else cast(args[0], name)
    function = getattr(extension("tir.functions"), name, None) if name.islower() else None
    return function(*args) if callable(function) else other
