"""Composite functions of scalars, and intrinsics by name."""

from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean
from relax_mlir.tir.scalar import functions
from relax_mlir.tir.scalar.arithmetic import binary
from relax_mlir.tir.scalar.conversion import as_expr, cast, const, matched
from relax_mlir.tir.scalar.dtypes import checked, is_float
from relax_mlir.tir.scalar.nodes import Call, Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr

_WIDE = 64


def convert(expr: Any) -> Any:
    """Return a number as an expression; lists and tuples of them as lists."""
    if isinstance(expr, (list, tuple)):
        return [convert(each) for each in expr]
    return as_expr(expr)


def nextafter(x1: Any, x2: Any) -> PrimExpr:
    """Return the number next to one on the way to another.

    Raises:
        ExprTypeError: they are no floats.
    """
    x, y = matched(x1, x2)
    if not is_float(x.dtype):
        raise ExprTypeError(f"'nextafter' needs floating-point operands, got {x.dtype}")
    whole = f"int{8 * T.dtype_size(x.dtype)}"
    zero = const(0, x.dtype)
    # The bits of a float are in order.
    away = binary("xor", cast(x < y, whole), cast(x < zero, whole))
    stepped = functions.reinterpret(whole, x) + (away * 2 - 1)
    negative = functions.reinterpret(whole, const(-0.0, x.dtype)) + 1
    least = Select(y < zero, negative, const(1, whole))
    moved = functions.reinterpret(x.dtype, Select(x == zero, least, stepped))
    return Select(functions.any(x != x, y != y), x + y, Select(x == y, y, moved))


def ldexp(x1: Any, x2: Any) -> PrimExpr:
    """Return a float times a power of two: the exponent is an integer.

    Raises:
        ExprTypeError: the first is no float.
    """
    x = as_expr(x1, "float32")
    if not is_float(x.dtype):
        raise ExprTypeError(f"'ldexp' needs a floating-point number, got {x.dtype}")
    return Call(x.dtype, "ldexp", [x, as_expr(x2)])


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """Multiply int32 numbers of `q` fractional bits and shift by `s`, rounding half up.

    Args:
        x: a number.
        y: a number.
        q: how many bits of the product are behind the point, an integer.
        s: how far the product goes to the left, or if negative to the right, an integer.

    Raises:
        ExprError: 64 bits have no room for these shifts.
        ExprTypeError: `q` or `s` is no integer, or the numbers are no int32.
    """
    bits, shift = _integer(q, "q"), _integer(s, "s")
    total = bits + max(-shift, 0)
    if not (0 < total < _WIDE and 0 <= max(shift, 0) < _WIDE):
        raise ExprError(f"q_multiply_shift shifts by {total}; 64 bits have room for 1 to 63")
    left, right = (_wide(each) for each in (x, y))
    left = left << shift if shift > 0 else left
    return cast((left * right + (1 << (total - 1))) >> total, "int32")


def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> PrimExpr:
    """Multiply int32 numbers of `q` fractional bits, shifts being numbers too.

    Args:
        x: a number.
        y: a number.
        ls: how far `x` goes to the left before.
        rs: how far the product goes to the right.
        q: how many bits of the product are behind the point, an integer.
        is_lshift_required: whether there is a shift to the left.
        is_rshift_required: whether there is one to the right.

    Raises:
        ExprTypeError: `q` is no integer, or the numbers are no int32.
    """
    left, right = _wide(x), _wide(y)
    total = const(_integer(q, "q"), "int64")
    total = total + _wide(rs) if _integer(is_rshift_required, "is_rshift_required") else total
    left = left << _wide(ls) if _integer(is_lshift_required, "is_lshift_required") else left
    return cast((left * right + (const(1, "int64") << (total - 1))) >> total, "int32")


def _wide(value: Any) -> PrimExpr:
    expr = as_expr(value, "int32")
    if expr.dtype != "int32":
        raise ExprTypeError(f"q_multiply_shift takes int32, got {expr.dtype}")
    return cast(expr, "int64")


def _integer(value: Any, what: str) -> int:
    value = getattr(value, "value", value)
    if not isinstance(value, int):
        raise ExprTypeError(f"q_multiply_shift: {what} must be a constant integer, got {value!r}")
    return int(value)


def call_intrin(dtype: str, func_name: str, *args: Any) -> PrimExpr:
    """Return a call of a function of this module by name, such as `"tir.exp"`.

    Args:
        dtype: of the result, which the function must have.
        func_name: with or without what stands in front of its last dot.
        args: what it is given.

    Raises:
        ExprError: there is no such function.
        ExprTypeError: its result has another dtype.
    """
    from relax_mlir import tir

    name = str(func_name).rpartition(".")[2]
    function = getattr(tir, name, None) if name in _intrinsics() else None
    if function is None:
        raise ExprError(f"there is no intrinsic '{func_name}'{did_you_mean(name, _intrinsics())}")
    made = function(*args)
    if made.dtype != checked(dtype):
        raise ExprTypeError(f"'{func_name}' of these operands is {made.dtype}, not {dtype}")
    return made


def _intrinsics() -> list[str]:
    return [
        *functions.FUNCTIONS, "all", "any", "atan2", "copysign", "exp10", "fmod", "hypot",
        "if_then_else", "ldexp", "likely", "nextafter", "pow", "q_multiply_shift",
        "q_multiply_shift_per_axis",
    ]  # fmt: skip
