"""Scalar functions of elementwise operations, by name."""

import math
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.relax.ops.elementwise import ROUNDING
from relax_mlir.dialects.tir.scalar import (
    Scalar,
    binary,
    cast,
    compare,
    is_float,
    is_unsigned,
    multiply_add,
    select,
    unary,
)
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE, highest, lowest


def _wide(function: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    """Evaluate half-precision operands in float32, as their few bits do not survive composition."""

    def wrapped(x: Scalar) -> Scalar:
        if x.dtype in ("float16", "bfloat16"):
            return cast(function(cast(x, "float32")), x.dtype)
        return function(x)

    return wrapped


def _named(name: str) -> Callable[[Scalar], Scalar]:
    return lambda x: unary(name, x)


# What a normal variable is beyond u with, over e**(-u**2 / 2) / (u + _NEAR), by powers of
# _NEAR / (u + _NEAR) - _MIDDLE; for u from 0 to _FAR, from where on all of it is nothing.
_NEAR, _MIDDLE, _FAR = 4.0, 0.546875, 39.0
_TAIL = (
    0.8158364223189442, 1.3712095516573806, 1.7713580049664324, 1.6781727993610187,
    1.0148190321782113, 0.16928796983643207, -0.2880802729241054, -0.18672180646910042,
    0.08265695020033725, 0.10893402082904802, -0.03728346097974911, -0.06260258678257254,
    0.029037872702259333, 0.035245013895831276, -0.028075856737647127, -0.016189319511816624,
    0.02623666918417323, 0.0021392954064063823, -0.020898658701069106, 0.005331921973792462,
    0.01239521217292602, -0.0043279228814489465, -0.004048940085376609,
)  # fmt: skip


def _gelu_of_double(x: Scalar) -> Scalar:
    """Return x, if positive, less |x| times the share of a normal distribution beyond |x|."""
    magnitude = unary("abs", x)
    u = select(compare("gt", magnitude, _FAR), _FAR, magnitude)
    # Half of the digits: their square is exact, as what it leaves of u's is nearly.
    high = cast(cast(u, "float32"), "float64")
    left = (u - high) * (u + high) * -0.5
    near = _NEAR / (u + _NEAR) - _MIDDLE
    tail = cast(_TAIL[-1], "float64")
    for factor in _TAIL[-2::-1]:
        tail = multiply_add(tail, near, cast(factor, "float64"))
    tail = u / (u + _NEAR) * tail * unary("exp", high * high * -0.5)
    lost = tail + tail * (left + left * left * (left * (1 / 6) + 0.5))
    # Minus infinity times nothing is NaN.
    return x * select(compare("gt", x, 0), cast(1.0, "float64"), 0.0) - lost


def _gelu(x: Scalar) -> Scalar:
    if x.dtype == "float64":
        return _gelu_of_double(x)
    # `expand-math` knows it in this form, and makes one function of it that loses no digits.
    return x * 0.5 * (unary("erf", x * math.sqrt(0.5)) + 1.0)


def _silu(x: Scalar) -> Scalar:
    """Return x / (1 + exp(-x)); where the power is subnormal its root is taken twice."""
    if x.dtype == "float32":
        # As of `_gelu`.
        return x / (unary("exp", -x) + 1.0)
    magnitude = unary("abs", x)
    near = compare("lt", magnitude, 80.0)
    power = unary("exp", select(near, magnitude, magnitude * 0.5) * -1.0)
    again = select(near, cast(1.0, x.dtype), power)
    quotient = 1.0 / (power + 1.0)
    return select(compare("lt", x, 0), (x * power) * (again * quotient), x * quotient)


def _gelu_tanh(x: Scalar) -> Scalar:
    # (1 + tanh(y)) / 2 is the logistic function of 2 * y, which keeps the digits of small values.
    twice = x * (2 * math.sqrt(2 / math.pi)) * (x * x * 0.044715 + 1.0)
    return x * unary("sigmoid", twice)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _selu(x: Scalar) -> Scalar:
    below = unary("expm1", binary("min", x, 0)) * (_SELU_ALPHA * _SELU_SCALE)
    return select(compare("gt", x, 0), x * _SELU_SCALE, below)


def _sign(x: Scalar) -> Scalar:
    # Of either zero it is 0.0.
    rest = select(compare("ne", x, x), x, 0) if is_float(x.dtype) else x
    below = rest if is_unsigned(x.dtype) else select(compare("lt", x, 0), -1, rest)
    return select(compare("gt", x, 0), 1, below)


def _invert(x: Scalar) -> Scalar:
    return binary("xor", x, highest(x.dtype) if is_unsigned(x.dtype) else -1)


def _is_infinite(x: Scalar) -> Scalar:
    return compare("eq", unary("abs", x), math.inf) if is_float(x.dtype) else compare("ne", x, x)


def _is_finite(x: Scalar) -> Scalar:
    return compare("lt", unary("abs", x), math.inf) if is_float(x.dtype) else compare("eq", x, x)


def _rounded(name: str) -> Callable[[Scalar], Scalar]:
    return lambda x: unary(name, x) if is_float(x.dtype) else x


_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "exp2",
    "expm1", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "abs",
)  # fmt: skip
UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    **{name: _named(name) for name in _MATH},
    **{name: _rounded(name) for name in ROUNDING},
    "gelu": _wide(_gelu),
    "gelu_tanh": _wide(_gelu_tanh),
    "selu": _wide(_selu),
    "sigmoid": _wide(_named("sigmoid")),
    "silu": _wide(_silu),
    "negative": lambda x: -x,
    "relu": lambda x: binary("max", x, 0),
    "relu6": lambda x: binary("min", binary("max", x, 0), 6),
    "square": lambda x: x * x,
    "sign": _sign,
    "bitwise_not": _invert,
    "logical_not": lambda x: compare("eq", x, 0),
    "isnan": lambda x: compare("ne", x, x),
    "isinf": _is_infinite,
    "isfinite": _is_finite,
}


def _clip(x: Scalar, attrs: dict[str, Any]) -> Scalar:
    low, high = attrs["min"], attrs["max"]
    if not is_float(x.dtype):
        least, most = lowest(x.dtype), highest(x.dtype)
        # Python's integers have no infinities, and a bound need not fit the dtype.
        low = least if low < least else most if low > most else math.ceil(low)
        high = least if high < least else most if high > most else math.floor(high)
    return binary("min", binary("max", x, low), high)


def _leakyrelu(x: Scalar, attrs: dict[str, Any]) -> Scalar:
    return select(compare("gt", x, 0), x, x * attrs["alpha"])


def _softplus(x: Scalar, attrs: dict[str, Any]) -> Scalar:
    scaled = x * attrs["beta"]
    soft = unary("log1p", unary("exp", scaled)) / attrs["beta"]
    return select(compare("gt", scaled, attrs["threshold"]), x, soft)


# Functions of an element and the operation's attributes.
PARAMETRIC: dict[str, Callable[[Scalar, dict[str, Any]], Scalar]] = {
    "clip": _clip,
    "leakyrelu": _leakyrelu,
    "softplus": _softplus,
}


def _floor_divide(a: Scalar, b: Scalar) -> Scalar:
    """Divide like numpy, which takes floats through the exact remainder: `1.0 // 0.1` is 9."""
    if not is_float(a.dtype):
        return binary("floordiv", a, b)
    ratio = binary("div", a, b)
    rest = binary("truncmod", a, b)
    exact = binary("div", a - rest, b)
    opposite = compare("ne", compare("lt", b, 0), compare("lt", rest, 0))
    inexact = compare("ne", rest, 0)
    exact = select(binary("and", inexact, opposite), exact - 1, exact)
    whole = unary("floor", exact)
    whole = select(compare("gt", exact - whole, 0.5), whole + 1, whole)
    signed_zero = ratio * 0
    whole = select(compare("eq", exact, 0), signed_zero, whole)
    return select(compare("eq", b, 0), ratio, whole)


def _floor_mod(a: Scalar, b: Scalar) -> Scalar:
    """Return numpy's remainder: of the sign of b, zeros included."""
    if not is_float(a.dtype):
        return binary("mod", a, b)
    rest = binary("truncmod", a, b)
    negative = compare("lt", b, 0)
    opposite = compare("ne", negative, compare("lt", rest, 0))
    zero = select(negative, cast(-0.0, a.dtype), cast(0.0, a.dtype))
    return select(compare("eq", rest, 0), zero, select(opposite, rest + b, rest))


def _log_add_exp(a: Scalar, b: Scalar) -> Scalar:
    if a.dtype in ACCUMULATE:
        return cast(_log_add_exp(cast(a, "float32"), cast(b, "float32")), a.dtype)
    larger, smaller = binary("max", a, b), binary("min", a, b)
    # Two equal infinities have no difference, and are their own result.
    same = compare("eq", a, b)
    difference = select(same, cast(0, a.dtype), smaller - larger)
    return larger + unary("log1p", unary("exp", difference))


def hypot(a: Scalar, b: Scalar) -> Scalar:
    """Return the length of (a, b), as C does: no square of a finite length is beyond its dtype."""
    infinite = binary("or", *(compare("eq", unary("abs", side), math.inf) for side in (a, b)))
    if a.dtype == "float64":
        x, y = unary("abs", a), unary("abs", b)
        longer, shorter = binary("max", x, y), binary("min", x, y)
        part = select(compare("eq", longer, 0), longer, binary("div", shorter, longer))
        length = longer * unary("sqrt", part * part + 1)
    else:
        x, y = cast(a, "float64"), cast(b, "float64")
        length = cast(unary("sqrt", x * x + y * y), a.dtype)
    return select(infinite, math.inf, length)


def ldexp(x: Scalar, exponent: Scalar) -> Scalar:
    """Return x * 2**exponent, also where that power alone is beyond the dtype."""
    power = cast(exponent, "float64")
    if x.dtype != "float64":
        power = binary("min", binary("max", power, -400.0), 400.0)
        return cast(cast(x, "float64") * unary("exp2", power), x.dtype)
    power = binary("min", binary("max", power, -2200.0), 2200.0)
    third = unary("trunc", power / 3)
    part = unary("exp2", third)
    return x * part * part * unary("exp2", power - third - third)


def arithmetic(kind: str, of_bools: str) -> Callable[[Scalar, Scalar], Scalar]:
    """Return a binary operation that is another one on bools, numpy's: their sum is `or`."""
    return lambda a, b: binary(of_bools if a.dtype == "bool" else kind, a, b)


BINARY: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": arithmetic("add", "or"),
    "subtract": lambda a, b: a - b,
    "multiply": arithmetic("mul", "and"),
    "divide": lambda a, b: binary("div", a, b),
    "floor_divide": _floor_divide,
    "power": lambda a, b: binary("pow", a, b),
    "maximum": lambda a, b: binary("max", a, b),
    "minimum": lambda a, b: binary("min", a, b),
    "mod": lambda a, b: binary("truncmod", a, b),
    "floor_mod": _floor_mod,
    "atan2": lambda a, b: binary("atan2", a, b),
    "log_add_exp": _log_add_exp,
    "bitwise_and": lambda a, b: binary("and", a, b),
    "bitwise_or": lambda a, b: binary("or", a, b),
    "bitwise_xor": lambda a, b: binary("xor", a, b),
    "left_shift": lambda a, b: binary("shl", a, b),
    "right_shift": lambda a, b: binary("shr", a, b),
    "logical_and": lambda a, b: binary("and", cast(a, "bool"), cast(b, "bool")),
    "logical_or": lambda a, b: binary("or", cast(a, "bool"), cast(b, "bool")),
    "logical_xor": lambda a, b: binary("xor", cast(a, "bool"), cast(b, "bool")),
    "equal": lambda a, b: compare("eq", a, b),
    "not_equal": lambda a, b: compare("ne", a, b),
    "less": lambda a, b: compare("lt", a, b),
    "less_equal": lambda a, b: compare("le", a, b),
    "greater": lambda a, b: compare("gt", a, b),
    "greater_equal": lambda a, b: compare("ge", a, b),
}
TERNARY: dict[str, Callable[[Scalar, Scalar, Scalar], Scalar]] = {
    "where": select,
    "ewise_fma": lambda a, b, c: a * b + c,
}
