"""Elementwise operations: arithmetic, comparisons, activations, casts."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.frontend.onnx.weights import dtype_name
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import STORAGE, Value
from relax_mlir.relax import op
from relax_mlir.relax.expr import const

UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh",
    "Atan": "atan", "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Neg": "negative",
    "Not": "logical_not", "BitwiseNot": "bitwise_not", "Relu": "relu", "Round": "round",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "And": "logical_and", "Or": "logical_or",
    "Xor": "logical_xor", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal",
}  # fmt: skip
VARIADIC = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _register() -> None:
    for name, relax_name in UNARY.items():
        converts("onnx", name)(lambda node, f=relax_name: getattr(op, f)(node.x()))
    for name, relax_name in BINARY.items():
        converts("onnx", name)(lambda node, f=relax_name: getattr(op, f)(node.x(0), node.x(1)))
    for name, relax_name in VARIADIC.items():
        converts("onnx", name)(lambda node, f=relax_name: _chain(node, getattr(op, f)))


def _chain(node: Any, join: Callable[[Any, Any], Any]) -> Any:
    return functools.reduce(join, [node.x(i) for i in range(len(node.inputs))])


_register()


def scalar(node: Any, value: Any, index: int = 0) -> Any:
    """Return a constant of the dtype of an input."""
    return const(np.asarray(value), node.dtype(index))


def is_integer(dtype: str) -> bool:
    """Whether a dtype is of integers."""
    return dtype.startswith(("int", "uint"))


@converts("onnx", "Identity")
def identity(node: Any) -> Any:
    """Return the input itself, whatever it is."""
    return node.inputs[0]


@converts("onnx", "Div")
def div(node: Any) -> Any:
    """Divide; integers towards zero."""
    x, y = node.x(0), node.x(1)
    dtype = node.dtype()
    if not is_integer(dtype):
        return op.divide(x, y)
    if dtype.startswith("uint"):
        return op.floor_divide(x, y)
    quotient = node.emit(op.floor_divide(x, y))
    exact = op.equal(op.multiply(quotient, y), x)
    negative = op.less(quotient, scalar(node, 0))
    up = op.logical_and(negative, op.logical_not(exact))
    return op.add(quotient, op.astype(up, dtype))


@converts("onnx", "Mean")
def mean(node: Any) -> Any:
    """Return the mean of all inputs."""
    return op.divide(_chain(node, op.add), scalar(node, len(node.inputs)))


@converts("onnx", "Mod")
def mod(node: Any) -> Any:
    """Return the remainder, of the sign of the divisor, or with `fmod` of the dividend."""
    x, y = node.x(0), node.x(1)
    if not node.attrs["fmod"]:
        return op.floor_mod(x, y)
    dtype = node.dtype()
    if is_integer(dtype):
        rest = node.emit(op.floor_mod(op.abs(x), op.abs(y)))
        return op.where(op.less(x, scalar(node, 0)), op.negative(rest), rest)
    return op.subtract(x, op.multiply(op.trunc(op.divide(x, y)), y))


@converts("onnx", "Pow")
def power(node: Any) -> Any:
    """Raise to a power; the result has the dtype of the base."""
    x, y, dtype, other = node.x(0), node.x(1), node.dtype(0), node.dtype(1)
    if dtype == other and not is_integer(dtype):
        return op.power(x, y)
    wide = "float64" if "64" in dtype + other or is_integer(dtype) else "float32"
    return op.astype(op.power(op.astype(x, wide), op.astype(y, wide)), dtype)


@converts("onnx", "Reciprocal")
def reciprocal(node: Any) -> Any:
    """Return 1 / x."""
    return op.divide(scalar(node, 1), node.x())


@converts("onnx", "BitShift")
def bit_shift(node: Any) -> Any:
    """Shift to the left or to the right."""
    shift = op.left_shift if node.attrs["direction"] == "LEFT" else op.right_shift
    return shift(node.x(0), node.x(1))


@converts("onnx", "IsInf")
def is_inf(node: Any) -> Any:
    """Tell infinities, of either sign or of one."""
    x = node.x()
    positive, negative = node.attrs["detect_positive"], node.attrs["detect_negative"]
    if positive and negative:
        return op.isinf(x)
    if not positive and not negative:
        return op.zeros_like(x, "bool")
    zero = scalar(node, 0)
    signed = op.greater(x, zero) if positive else op.less(x, zero)
    return op.logical_and(op.isinf(x), signed)


@converts("onnx", "Where")
def where(node: Any) -> Any:
    """Select elements."""
    return op.where(node.x(0), node.x(1), node.x(2))


@converts("onnx", "Clip")
def clip(node: Any) -> Any:
    """Clip at attributes."""
    low, high = node.attrs.get("min"), node.attrs.get("max")
    x = node.x()
    x = x if low is None else op.maximum(x, scalar(node, low))
    return x if high is None else op.minimum(x, scalar(node, high))


@converts("onnx", "Clip", since=11)
def clip_inputs(node: Any) -> Any:
    """Clip at inputs."""
    x = node.x()
    x = op.maximum(x, node.x(1)) if node.has(1) else x
    return op.minimum(x, node.x(2)) if node.has(2) else x


# Casts


def cast_to(node: Any, value: Value, to: str, saturate: bool = True) -> Any:
    """Return a tensor as another dtype, with what ONNX says of each pair of them."""
    if value.dtype == to:
        return value
    if "string" in (value.dtype, to):
        raise node.fail("strings are not supported")
    if value.dtype in STORAGE or to in STORAGE:
        if node.attrs.get("round_mode", "up") != "up":
            raise node.fail("only round_mode up is supported")
        x, dims = node.x(), value.dims
        config = {"of": value.dtype, "to": to, "saturate": saturate}
        shape = value.ndim if dims is None else dims
        return node.runtime("cast", [x], [(to, shape)], **config)
    x = node.x()
    if to == "bool":
        return op.not_equal(x, const(0, value.dtype)) if value.dtype != "bool" else x
    return op.astype(x, to)


@converts("onnx", "Cast")
def cast(node: Any) -> Any:
    """Cast to the dtype of an attribute."""
    to = dtype_name(node.attrs["to"], "Cast")
    return cast_to(node, node.value(0), to, bool(node.attrs.get("saturate", 1)))


@converts("onnx", "CastLike")
def cast_like(node: Any) -> Any:
    """Cast to the dtype of another tensor."""
    return cast_to(node, node.value(0), node.dtype(1), bool(node.attrs.get("saturate", 1)))


@converts("onnx", "BitCast")
def bit_cast(node: Any) -> Any:
    """Return the bits as another dtype."""
    to = dtype_name(node.attrs["to"], "BitCast")
    value = node.value(0)
    config = {"of": value.dtype, "to": to}
    return node.runtime("bit_cast", [node.x()], [(to, value.dims or value.ndim)], **config)


# Activations


@converts("onnx", "LeakyRelu")
def leaky_relu(node: Any) -> Any:
    """Return max(x, 0) + alpha min(x, 0)."""
    return op.leakyrelu(node.x(), node.attrs["alpha"])


@converts("onnx", "PRelu")
def prelu(node: Any) -> Any:
    """Return x, or slope times x where it is negative."""
    x = node.x()
    return op.where(op.less(x, scalar(node, 0)), op.multiply(x, node.x(1)), x)


@converts("onnx", "Elu")
def elu(node: Any) -> Any:
    """Return x, or alpha (exp(x) - 1) where it is negative."""
    x = node.x()
    below = op.multiply(scalar(node, node.attrs["alpha"]), op.expm1(x))
    return op.where(op.less(x, scalar(node, 0)), below, x)


@converts("onnx", "Celu")
def celu(node: Any) -> Any:
    """Return max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    x, alpha, zero = node.x(), scalar(node, node.attrs["alpha"]), scalar(node, 0)
    below = op.multiply(alpha, op.expm1(op.divide(x, alpha)))
    return op.add(op.maximum(x, zero), op.minimum(below, zero))


@converts("onnx", "Selu")
def selu(node: Any) -> Any:
    """Return gamma times x, or gamma alpha (exp(x) - 1) where it is negative."""
    x, zero = node.x(), scalar(node, 0)
    alpha, gamma = scalar(node, node.attrs["alpha"]), scalar(node, node.attrs["gamma"])
    below = op.multiply(alpha, op.expm1(x))
    return op.multiply(gamma, op.where(op.greater(x, zero), x, below))


@converts("onnx", "ThresholdedRelu")
def thresholded_relu(node: Any) -> Any:
    """Return x where it is greater than alpha, else 0."""
    x = node.x()
    return op.where(op.greater(x, scalar(node, node.attrs["alpha"])), x, scalar(node, 0))


def _clipped_line(node: Any, alpha: float, beta: float) -> Any:
    line = op.add(op.multiply(scalar(node, alpha), node.x()), scalar(node, beta))
    return op.minimum(op.maximum(line, scalar(node, 0)), scalar(node, 1))


@converts("onnx", "HardSigmoid")
def hard_sigmoid(node: Any) -> Any:
    """Return max(0, min(1, alpha x + beta))."""
    return _clipped_line(node, node.attrs["alpha"], node.attrs["beta"])


@converts("onnx", "HardSwish")
def hard_swish(node: Any) -> Any:
    """Return x max(0, min(1, x / 6 + 0.5))."""
    return op.multiply(node.x(), _clipped_line(node, 1 / 6, 0.5))


@converts("onnx", "Softplus")
def softplus(node: Any) -> Any:
    """Return log(exp(x) + 1)."""
    x = node.x()
    rest = op.log1p(op.exp(op.negative(op.abs(x))))
    return op.add(op.maximum(x, scalar(node, 0)), rest)


@converts("onnx", "Softsign")
def softsign(node: Any) -> Any:
    """Return x / (1 + |x|)."""
    return op.divide(node.x(), op.add(scalar(node, 1), op.abs(node.x())))


@converts("onnx", "Mish")
def mish(node: Any) -> Any:
    """Return x tanh(softplus(x))."""
    return op.multiply(node.x(), op.tanh(softplus(node)))


@converts("onnx", "Swish")
def swish(node: Any) -> Any:
    """Return x sigmoid(alpha x)."""
    x = node.x()
    return op.multiply(x, op.sigmoid(op.multiply(scalar(node, node.attrs["alpha"]), x)))


@converts("onnx", "Gelu")
def gelu(node: Any) -> Any:
    """Return x times the normal distribution function of x, or its approximation by tanh."""
    return (op.gelu_tanh if node.attrs["approximate"] == "tanh" else op.gelu)(node.x())


@converts("com.microsoft", "Gelu")
def gelu_exact(node: Any) -> Any:
    """Return x times the normal distribution function of x."""
    return op.gelu(node.x())


@converts("com.microsoft", "FastGelu")
def gelu_fast(node: Any) -> Any:
    """Return gelu by tanh, of the sum with a bias where there is one."""
    return op.gelu_tanh(op.add(node.x(0), node.x(1)) if node.has(1) else node.x(0))


@converts("com.microsoft", "QuickGelu")
def gelu_quick(node: Any) -> Any:
    """Return x sigmoid(alpha x)."""
    alpha = node.attrs.get("alpha", 1.702)
    return op.multiply(node.x(), op.sigmoid(op.multiply(scalar(node, alpha), node.x())))


@converts("onnx", "Shrink")
def shrink(node: Any) -> Any:
    """Move towards zero by `bias` what is further from it than `lambd`, and clear the rest."""
    x, bias, limit = node.x(), node.attrs["bias"], node.attrs["lambd"]
    above = op.where(op.greater(x, scalar(node, limit)), op.subtract(x, scalar(node, bias)),
                     scalar(node, 0))  # fmt: skip
    return op.where(op.less(x, scalar(node, -limit)), op.add(x, scalar(node, bias)), above)
