"""Elementwise functions at run time."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.bytecode.builtins import binary_broadcast_shape_infer
from relax_mlir.runtime.library.operands import axes, check, check_pair, widen

_Array = np.ndarray
_BOOL = np.dtype("bool")
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _erf(x: _Array) -> _Array:
    values = map(math.erf, x.reshape(x.size).tolist())
    return np.fromiter(values, np.float64, x.size).reshape(x.shape).astype(x.dtype)


def _sigmoid(x: _Array) -> _Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _gelu(x: _Array) -> _Array:
    # 1 + erf would leave no digits of what is far below zero.
    wide = x.astype(np.float64)
    values = map(math.erfc, (wide * -math.sqrt(0.5)).reshape(x.size).tolist())
    return wide * 0.5 * np.fromiter(values, np.float64, x.size).reshape(x.shape)


def _gelu_tanh(x: _Array) -> _Array:
    scalar = x.dtype.type
    # (1 + tanh(y)) / 2 is the logistic function of 2 * y, which keeps the digits of small values.
    twice = x * scalar(2 * math.sqrt(2 / math.pi)) * (x * x * scalar(0.044715) + scalar(1))
    return x / (np.exp(-twice) + scalar(1))


def _selu(x: _Array) -> _Array:
    scalar = x.dtype.type
    below = np.expm1(np.minimum(x, scalar(0))) * scalar(_SELU_ALPHA * _SELU_SCALE)
    return np.where(x > 0, x * scalar(_SELU_SCALE), below)


def _truncated(a: _Array, b: _Array) -> Any:
    """Divide integers towards zero; by zero it is 0, as in the compiled kernels."""
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "i":
        uneven = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
        quotient = quotient + uneven.astype(a.dtype)
    return quotient


def divide(a: _Array, b: _Array) -> Any:
    """Divide floats as they are, integers towards zero."""
    return np.divide(a, b) if a.dtype.kind == "f" else _truncated(a, b)


def _power(a: _Array, b: _Array) -> Any:
    if a.dtype.kind != "i" or not (b < 0).any():
        return np.power(a, b)
    scalar = a.dtype.type
    # The reciprocal of an integer is an integer only for 1 and -1; towards zero all others are 0.
    sign = np.where((b & scalar(1)) == 1, scalar(-1), scalar(1))
    inverse = np.where(a == 1, scalar(1), np.where(a == -1, sign, scalar(0)))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, scalar(0))))


def _rounding(function: Callable[[_Array], Any]) -> Callable[[_Array], Any]:
    return lambda x: function(x) if x.dtype.kind == "f" else x.copy()


# Name -> (function, kinds of dtypes, whether the result is of bools).
_UNARY: dict[str, tuple[Callable[[_Array], Any], str, bool]] = {
    **{
        name: (getattr(np, function), "f", False)
        for name, function in {
            "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
            "atan": "arctan", "atanh": "arctanh", "cosh": "cosh", "sinh": "sinh", "tan": "tan",
            "exp2": "exp2", "expm1": "expm1", "log10": "log10", "log1p": "log1p", "log2": "log2",
            "exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tanh": "tanh",
        }.items()
    },
    "trunc": (_rounding(np.trunc), "iuf", False),
    "floor": (_rounding(np.floor), "iuf", False),
    "ceil": (_rounding(np.ceil), "iuf", False),
    "round": (_rounding(np.rint), "iuf", False),
    "rsqrt": (lambda x: x.dtype.type(1) / np.sqrt(x), "f", False),
    "erf": (_erf, "f", False),
    "sigmoid": (_sigmoid, "f", False),
    "silu": (lambda x: x * _sigmoid(x), "f", False),
    "gelu": (_gelu, "f", False),
    "gelu_tanh": (_gelu_tanh, "f", False),
    "selu": (_selu, "f", False),
    "relu6": (lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)), "iuf", False),
    "relu": (lambda x: np.maximum(x, x.dtype.type(0)), "biuf", False),
    "square": (lambda x: x * x, "biuf", False),
    "abs": (np.abs, "biuf", False),
    # As in numpy, bools have no negative, and no difference below.
    "negative": (np.negative, "iuf", False),
    "sign": (np.sign, "iuf", False),
    "bitwise_not": (np.invert, "biu", False),
    "logical_not": (np.logical_not, "biuf", True),
    "isfinite": (np.isfinite, "biuf", True),
    "isinf": (np.isinf, "biuf", True),
    "isnan": (np.isnan, "biuf", True),
}  # fmt: skip
_BINARY: dict[str, tuple[Callable[[_Array, _Array], Any], str, bool]] = {
    "add": (np.add, "biuf", False),
    "subtract": (np.subtract, "iuf", False),
    "multiply": (np.multiply, "biuf", False),
    "divide": (divide, "iuf", False),
    "floor_divide": (np.floor_divide, "iuf", False),
    "power": (_power, "iuf", False),
    "maximum": (np.maximum, "biuf", False),
    "minimum": (np.minimum, "biuf", False),
    "atan2": (np.arctan2, "f", False),
    "log_add_exp": (np.logaddexp, "f", False),
    "floor_mod": (np.remainder, "iuf", False),
    "mod": (np.fmod, "iuf", False),
    "bitwise_and": (np.bitwise_and, "biu", False),
    "bitwise_or": (np.bitwise_or, "biu", False),
    "bitwise_xor": (np.bitwise_xor, "biu", False),
    "left_shift": (np.left_shift, "iu", False),
    "right_shift": (np.right_shift, "iu", False),
    "logical_and": (np.logical_and, "biuf", True),
    "logical_or": (np.logical_or, "biuf", True),
    "logical_xor": (np.logical_xor, "biuf", True),
}


def _unary(function: Callable[[_Array], Any], kinds: str, is_bool: bool) -> Callable[..., Any]:
    def compute(x: _Array) -> Any:
        check(x, kinds)
        return np.asarray(function(widen(x))).astype(_BOOL if is_bool else x.dtype, copy=False)

    return compute


def _binary(function: Callable[..., Any], kinds: str, is_bool: bool) -> Callable[..., Any]:
    def compute(a: _Array, b: _Array) -> Any:
        check_pair(a, b, kinds)
        binary_broadcast_shape_infer(a.shape, b.shape)
        result = np.asarray(function(widen(a), widen(b)))
        return result.astype(_BOOL if is_bool else a.dtype, copy=False)

    return compute


def _comparison(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(a: _Array, b: _Array) -> Any:
        check(a)
        check(b)
        binary_broadcast_shape_infer(a.shape, b.shape)
        wide = np.result_type(a.dtype, b.dtype)
        return np.asarray(function(a.astype(wide, copy=False), b.astype(wide, copy=False)))

    return compute


def _clip(x: _Array, low: float, high: float) -> Any:
    check(x, "iuf")
    if x.dtype.kind != "f":
        limits = np.iinfo(x.dtype)
        low, high = (min(max(bound, limits.min), limits.max) for bound in (low, high))
        low, high = math.ceil(low), math.floor(high)
    scalar = x.dtype.type
    return np.minimum(np.maximum(x, scalar(low)), scalar(high))


def _leakyrelu(x: _Array, alpha: float) -> Any:
    check(x, "f")
    wide = widen(x)
    return np.where(wide > 0, wide, wide * wide.dtype.type(alpha)).astype(x.dtype)


def _softplus(x: _Array, beta: float, threshold: float) -> Any:
    check(x, "f")
    wide = widen(x)
    scalar = wide.dtype.type
    scaled = wide * scalar(beta)
    soft = np.log1p(np.exp(scaled)) / scalar(beta)
    return np.where(scaled > scalar(threshold), wide, soft).astype(x.dtype)


def _where(condition: _Array, a: _Array, b: _Array) -> Any:
    check(condition, "b")
    check_pair(a, b)
    shape = binary_broadcast_shape_infer(a.shape, b.shape)
    binary_broadcast_shape_infer(condition.shape, shape)
    return np.where(condition, a, b)


def _ewise_fma(a: _Array, b: _Array, c: _Array) -> Any:
    check_pair(a, b, "iuf")
    check_pair(a, c, "iuf")
    shape = binary_broadcast_shape_infer(a.shape, b.shape)
    binary_broadcast_shape_infer(shape, c.shape)
    return np.asarray(widen(a) * widen(b) + widen(c)).astype(a.dtype, copy=False)


def _prelu(x: _Array, alpha: _Array, axis: int) -> Any:
    check_pair(x, alpha, "f")
    if alpha.ndim != 1:
        raise ArgumentTypeError(f"alpha must have 1 dimension, got {alpha.ndim}")
    (axis,) = axes([axis], x.ndim)
    if alpha.size not in (1, x.shape[axis]):
        raise ShapeMismatchError(f"alpha has {alpha.size} elements for {x.shape[axis]} channels")
    slopes = alpha.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return np.where(x > 0, x, x * slopes)


# Name -> function of the operands, then the attributes in their declared order.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{name: _unary(*entry) for name, entry in _UNARY.items()},
    **{name: _binary(*entry) for name, entry in _BINARY.items()},
    **{
        name: _comparison(getattr(np, name))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    "clip": _clip,
    "leakyrelu": _leakyrelu,
    "softplus": _softplus,
    "where": _where,
    "ewise_fma": _ewise_fma,
    "prelu": _prelu,
}
