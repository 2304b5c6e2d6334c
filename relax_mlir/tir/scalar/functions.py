"""Functions of scalar expressions under TVM's names; sizes stay symbolic where possible."""

import functools
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.tir.scalar import conversion, dtypes, intrinsics
from relax_mlir.tir.scalar import nodes as N
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.prim_expr import PrimExpr

_FLOAT = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "sigmoid", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor",
    "ceil", "round", "trunc", "abs", "isnan", "isinf", "isfinite", "clz", "popcount",
)  # fmt: skip


def _unary(name: str, kind: str = "") -> Callable[[Any], PrimExpr]:
    def function(x: Any) -> PrimExpr:
        return intrinsics.unary(kind or name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {name} of a number, an expression of its dtype or a bool."
    return function


UNARY = {
    **{name: _unary(name) for name in _FLOAT},
    "fabs": _unary("fabs", "abs"),
    "nearbyint": _unary("nearbyint", "round"),
    "bitwise_not": _unary("bitwise_not"),
}


def _symbolic(a: Any, b: Any) -> bool:
    """Whether both are sizes, at least one of them with symbols."""
    kinds = [isinstance(x, (SymExpr, int)) and not isinstance(x, bool) for x in (a, b)]
    return kinds == [True, True] and not type(a) is type(b) is int


def _bits(name: str, kind: str) -> Any:
    def function(x: Any, y: Any) -> Any:
        return binary(kind, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `{name}` of two integers."
    return function


def _binary(name: str, kind: str, size: Callable[[SymExpr, SymExpr], Any] | None = None) -> Any:
    def function(a: Any, b: Any) -> Any:
        if size is not None and _symbolic(a, b):
            return size(SymExpr.of(a), SymExpr.of(b))
        return binary(kind, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `{name}` of two numbers: a size of sizes, else an expression."
    return function


def _floor(a: SymExpr, b: SymExpr) -> SymExpr:
    return a // b


def _rest(a: SymExpr, b: SymExpr) -> SymExpr:
    return a % b


# Sizes are not negative, so that both roundings are one.
BINARY = {
    "floordiv": _binary("floordiv", "floordiv", _floor),
    "indexdiv": _binary("indexdiv", "floordiv", _floor),
    "truncdiv": _binary("truncdiv", "div", _floor),
    "div": _binary("div", "div", _floor),
    "floormod": _binary("floormod", "mod", _rest),
    "indexmod": _binary("indexmod", "mod", _rest),
    "truncmod": _binary("truncmod", "truncmod", _rest),
    "shift_left": _bits("shift_left", "shl"),
    "shift_right": _bits("shift_right", "shr"),
    "bitwise_and": _bits("bitwise_and", "and"),
    "bitwise_or": _bits("bitwise_or", "or"),
    "bitwise_xor": _bits("bitwise_xor", "xor"),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {**UNARY, **BINARY}


def ceildiv(lhs: Any, rhs: Any) -> Any:
    """Return the quotient rounded up."""
    if _symbolic(lhs, rhs):
        return SymExpr.of(lhs).ceildiv(rhs)
    x, y = conversion.matched(lhs, rhs)
    return (x + y - 1) // y


max: Callable[[Any, Any], Any] = _binary("max", "max", SymExpr.max)
min: Callable[[Any, Any], Any] = _binary("min", "min", SymExpr.min)


def pow(x: Any, y: Any) -> PrimExpr:
    """Return a power of floating-point numbers."""
    return intrinsics.binary("pow", x, y, floats=True)


power = pow


def fmod(x: Any, y: Any) -> PrimExpr:
    """Return the remainder of a division towards zero, of floating-point numbers."""
    return intrinsics.binary("truncmod", x, y, floats=True)


def atan2(x1: Any, x2: Any) -> PrimExpr:
    """Return the angle of a point, whose height is the first number."""
    return intrinsics.binary("atan2", x1, x2, floats=True)


def copysign(x1: Any, x2: Any) -> PrimExpr:
    """Return the first number with the sign of the second."""
    return intrinsics.binary("copysign", x1, x2, floats=True)


def logaddexp(a: Any, b: Any) -> PrimExpr:
    """Return the logarithm of the sum of two exponentials."""
    return intrinsics.binary("relax.log_add_exp", a, b, floats=True)


def hypot(x1: Any, x2: Any) -> PrimExpr:
    """Return the length of the hypotenuse."""
    return intrinsics.binary("hypot", x1, x2, floats=True)


def exp10(x: Any) -> PrimExpr:
    """Return a power of ten."""
    return pow(10.0, x)


def if_then_else(cond: Any, t: Any, f: Any) -> PrimExpr:
    """Return one of two numbers; only that one is evaluated, so a load in it is guarded."""
    test = conversion.condition(cond, "tir.if_then_else")
    if hasattr(test, "value"):
        chosen, _ = (t, f) if test else (f, t)
        return conversion.as_expr(chosen, conversion.matched(t, f)[0].dtype)
    return N.IfThenElse(test, t, f)


def all(*args: Any) -> PrimExpr:
    """Return whether all conditions hold.

    Raises:
        ExprError: there is none.
    """
    return _logical("and", "tir.all", args)


def any(*args: Any) -> PrimExpr:
    """Return whether one of the conditions holds.

    Raises:
        ExprError: there is none.
    """
    return _logical("or", "tir.any", args)


def _logical(kind: str, name: str, args: tuple[Any, ...]) -> PrimExpr:
    if not args:
        raise ExprError(f"{name} takes one condition or more")
    conditions = [conversion.condition(arg, name) for arg in args]
    return functools.reduce(lambda a, b: binary(kind, a, b), conditions)


def likely(cond: Any) -> PrimExpr:
    """Return a condition; that it is likely is of no consequence here."""
    return conversion.condition(cond, "tir.likely")


def reinterpret(dtype: str, value: Any) -> PrimExpr:
    """Return the bits of a number as one of another dtype of the same width.

    Raises:
        ExprTypeError: the widths differ.
    """
    expr, dtype = conversion.as_expr(value), dtypes.checked(dtype)
    if "bool" in (expr.dtype, dtype) or dtypes.bits(expr.dtype) != dtypes.bits(dtype):
        raise ExprTypeError(f"the bits of {expr.dtype} are not those of {dtype}")
    return intrinsics.call("reinterpret", [expr], {"dtype": dtype}, dtype)


def min_value(dtype: str) -> PrimExpr:
    """Return the smallest finite number of a dtype."""
    return conversion.const(_finite(dtype, -1), dtype)


def max_value(dtype: str) -> PrimExpr:
    """Return the largest finite number of a dtype."""
    return conversion.const(_finite(dtype, 1), dtype)


def infinity(dtype: str) -> PrimExpr:
    """Return the infinity of a floating-point dtype."""
    return conversion.const(float("inf"), dtype)


_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38,
            "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}  # fmt: skip


def _finite(dtype: str, sign: int) -> int | float:
    dtype = dtypes.checked(dtype)
    if dtypes.is_float(dtype):
        return sign * _LARGEST[dtype]
    return dtypes.highest(dtype) if sign > 0 else dtypes.lowest(dtype)
