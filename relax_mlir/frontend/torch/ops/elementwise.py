"""Elementwise operators; operands are promoted as torch promotes them.

Dtypes of results come from the fake values that torch computed, so promotion (a number and a
tensor, scalar tensors, integers divided) is torch's own.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError
from relax_mlir.frontend.torch.dtypes import dtype_limits, dtype_name
from relax_mlir.frontend.torch.importer import Importer, target_name
from relax_mlir.frontend.torch.ops.table import converts
from relax_mlir.relax import op

# Of the result's dtype: integers become floats where torch says so.
_UNARY = {
    "abs": op.abs, "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh,
    "atan": op.atan, "atanh": op.atanh, "cos": op.cos, "cosh": op.cosh, "erf": op.erf,
    "exp": op.exp, "exp2": op.exp2, "expm1": op.expm1, "log": op.log, "log10": op.log10,
    "log1p": op.log1p, "log2": op.log2, "neg": op.negative, "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid, "silu": op.silu, "sin": op.sin, "sinh": op.sinh, "sqrt": op.sqrt,
    "square": op.square, "tan": op.tan, "tanh": op.tanh,
    "relu": op.relu, "relu6": op.relu6, "selu": op.selu, "sign": op.sign, "sgn": op.sign,
    "bitwise_not": op.bitwise_not,
}  # fmt: skip
# Defined for floats, and nothing to do for integers.
_ROUNDING = {"ceil": op.ceil, "floor": op.floor, "trunc": op.trunc, "fix": op.trunc}
_PREDICATES = {
    "isfinite": op.isfinite, "isinf": op.isinf, "isnan": op.isnan, "logical_not": op.logical_not,
}  # fmt: skip
_BINARY = {
    "mul": op.multiply, "multiply": op.multiply, "atan2": op.atan2, "maximum": op.maximum,
    "minimum": op.minimum,
    "logaddexp": op.log_add_exp, "bitwise_and": op.bitwise_and, "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor, "floor_divide": op.floor_divide, "remainder": op.floor_mod,
    "fmod": op.mod, "pow": op.power, "__and__": op.bitwise_and, "__or__": op.bitwise_or,
    "__xor__": op.bitwise_xor,
    "bitwise_left_shift": op.left_shift, "bitwise_right_shift": op.right_shift,
    "__lshift__": op.left_shift, "__rshift__": op.right_shift,
}  # fmt: skip
_COMPARISONS = {
    "eq": op.equal, "ne": op.not_equal, "lt": op.less, "le": op.less_equal, "gt": op.greater,
    "ge": op.greater_equal,
}  # fmt: skip
_LOGICAL = {
    "logical_and": op.logical_and, "logical_or": op.logical_or, "logical_xor": op.logical_xor,
}  # fmt: skip


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, **_: function(m.cast(x, m.dtype))


def _rounding(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, **_: function(x) if "float" in m.dtype else x


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, y: function(m.cast(x, m.dtype), m.cast(y, m.dtype))


def _comparison(function: Callable[..., Any]) -> Callable[..., Any]:
    def compare(m: Importer, x: Any, y: Any) -> Any:
        dtype = promoted(m.fake(0), m.fake(1))
        return function(m.cast(x, dtype), m.cast(y, dtype))

    return compare


def promoted(*fakes: Any) -> str:
    """Return the dtype in which torch combines tensors and numbers."""
    return dtype_name(torch.result_type(*map(_plain, fakes)))


def _plain(fake: Any) -> Any:
    if isinstance(fake, torch.SymInt):
        return 0
    return 0.0 if isinstance(fake, torch.SymFloat) else fake


for _name, _function in _UNARY.items():
    converts(f"{_name}.default")(_unary(_function))
for _name, _function in _ROUNDING.items():
    converts(f"{_name}.default")(_rounding(_function))
for _name, _function in _PREDICATES.items():
    converts(f"{_name}.default")(lambda m, x, f=_function: f(x))
for _name, _function in _BINARY.items():
    converts(
        f"{_name}.default", f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Scalar_Tensor",
        f"{_name}.Tensor_Scalar", f"{_name}.Tensor_Tensor",
    )(_binary(_function))  # fmt: skip


@_binary
def _hypot(x: Any, y: Any) -> Any:
    return op.sqrt(op.add(op.square(x), op.square(y)))


converts("hypot.default")(_hypot)
converts("max.other")(_binary(op.maximum))
converts("min.other")(_binary(op.minimum))
for _name, _function in _COMPARISONS.items():
    converts(_name, f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_function))
for _name, _function in _LOGICAL.items():
    converts(f"{_name}.default")(lambda m, x, y, f=_function: f(_truth(m, x), _truth(m, y)))


@converts("and_", "or_")
def _both(m: Importer, x: Any, y: Any) -> Any:
    """Combine what is known of sizes: the conditions of assertions."""
    combine = op.logical_and if target_name(m.node) == "and_" else op.logical_or
    return combine(m.cast(x, "bool"), m.cast(y, "bool"))


def _truth(m: Importer, x: Any) -> Any:
    return x if x.ty.dtype == "bool" else op.not_equal(x, m.cast(0, x.ty.dtype))


@converts("add.Tensor", "add.Scalar")
def _add(m: Importer, x: Any, y: Any, alpha: Any = 1) -> Any:
    return op.add(m.cast(x, m.dtype), _scaled(m, y, alpha))


@converts("sub.Tensor", "sub.Scalar")
def _sub(m: Importer, x: Any, y: Any, alpha: Any = 1) -> Any:
    return op.subtract(m.cast(x, m.dtype), _scaled(m, y, alpha))


@converts("rsub.Tensor", "rsub.Scalar")
def _rsub(m: Importer, x: Any, y: Any, alpha: Any = 1) -> Any:
    return op.subtract(m.cast(y, m.dtype), _scaled(m, x, alpha))


def _scaled(m: Importer, x: Any, alpha: Any) -> Any:
    x = m.cast(x, m.dtype)
    return x if alpha == 1 else op.multiply(x, m.cast(alpha, m.dtype))


@converts("div.Tensor", "div.Scalar", "true_divide.Tensor")
def _div(m: Importer, x: Any, y: Any) -> Any:
    return op.divide(m.cast(x, m.dtype), m.cast(y, m.dtype))


@converts("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(m: Importer, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    x, y = m.cast(x, m.dtype), m.cast(y, m.dtype)
    if rounding_mode == "floor":
        return op.floor_divide(x, y)
    quotient = op.divide(x, y)
    is_rounded = rounding_mode == "trunc" and "float" in m.dtype
    return op.trunc(quotient) if is_rounded else quotient


@converts("fmax.default")
def _fmax(m: Importer, x: Any, y: Any) -> Any:
    """Return the greater elements; numbers before NaN."""
    return _ignoring_nan(m, x, y, op.maximum)


@converts("fmin.default")
def _fmin(m: Importer, x: Any, y: Any) -> Any:
    return _ignoring_nan(m, x, y, op.minimum)


def _ignoring_nan(m: Importer, x: Any, y: Any, function: Callable[..., Any]) -> Any:
    x, y = m.cast(x, m.dtype), m.cast(y, m.dtype)
    if "float" not in m.dtype:
        return function(x, y)
    return op.where(op.isnan(x), y, op.where(op.isnan(y), x, function(x, y)))


@converts("copysign.Tensor", "copysign.Scalar")
def _copysign(m: Importer, x: Any, y: Any) -> Any:
    """Return elements with the signs of others; -0 has one, which its reciprocal shows."""
    x, zero = op.abs(m.cast(x, m.dtype)), m.cast(0, m.dtype)
    y = m.cast(y, m.dtype)
    signs = op.where(op.equal(y, zero), op.divide(m.cast(1, m.dtype), y), y)
    return op.where(op.less(signs, zero), op.negative(x), x)


@converts("signbit.default")
def _signbit(m: Importer, x: Any) -> Any:
    dtype, zero = x.ty.dtype, m.cast(0, x.ty.dtype)
    if "float" in dtype:
        x = op.where(op.equal(x, zero), op.divide(m.cast(1, dtype), x), x)
    return op.less(x, zero)


@converts("angle.default")
def _angle(m: Importer, x: Any) -> Any:
    """Return the angles of real numbers: pi of negative ones."""
    x = m.cast(x, m.dtype)
    zero = m.cast(0, m.dtype)
    angles = op.where(op.less(x, zero), m.cast(math.pi, m.dtype), zero)
    return op.where(op.isnan(x), x, angles)


@converts("ldexp.Tensor")
def _ldexp(m: Importer, x: Any, exponent: Any) -> Any:
    return op.multiply(m.cast(x, m.dtype), op.exp2(m.cast(exponent, m.dtype)))


@converts("reciprocal.default")
def _reciprocal(m: Importer, x: Any) -> Any:
    return op.divide(m.cast(1, m.dtype), m.cast(x, m.dtype))


@converts("round.default", "round.decimals")
def _round(m: Importer, x: Any, decimals: int = 0) -> Any:
    if "float" not in m.dtype:
        return x
    if not decimals:
        return op.round(x)
    scale = m.cast(10.0 ** abs(decimals), m.dtype)
    if decimals > 0:
        return op.divide(op.round(op.multiply(x, scale)), scale)
    return op.multiply(op.round(op.divide(x, scale)), scale)


@converts("clamp.default", "clamp.Tensor", "clip.default")
def _clamp(m: Importer, x: Any, min: Any = None, max: Any = None) -> Any:
    x = m.cast(x, m.dtype)
    x = x if min is None else op.maximum(x, m.cast(min, m.dtype))
    return x if max is None else op.minimum(x, m.cast(max, m.dtype))


@converts("clamp_min.default", "clamp_min.Tensor")
def _clamp_min(m: Importer, x: Any, bound: Any) -> Any:
    return _clamp(m, x, bound)


@converts("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(m: Importer, x: Any, bound: Any) -> Any:
    return _clamp(m, x, None, bound)


@converts("hardtanh.default")
def _hardtanh(m: Importer, x: Any, min_val: Any = -1, max_val: Any = 1) -> Any:
    return _clamp(m, x, min_val, max_val)


@converts("where.self", "where.Scalar", "where.ScalarSelf", "where.ScalarOther")
def _where(m: Importer, condition: Any, x: Any, y: Any) -> Any:
    return op.where(_truth(m, condition), m.cast(x, m.dtype), m.cast(y, m.dtype))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(m: Importer, x: Any, mask: Any, value: Any) -> Any:
    return op.where(mask, m.cast(value, m.dtype), x)


@converts("gelu.default")
def _gelu(m: Importer, x: Any, approximate: str = "none") -> Any:
    return op.gelu_tanh(x) if approximate == "tanh" else op.gelu(x)


@converts("leaky_relu.default")
def _leaky_relu(m: Importer, x: Any, negative_slope: float = 0.01) -> Any:
    return op.leakyrelu(x, alpha=float(negative_slope))


@converts("rrelu_with_noise.default", "rrelu_with_noise_functional.default")
def _rrelu(
    m: Importer, x: Any, noise: Any, lower: Any = 1 / 8, upper: Any = 1 / 3,
    training: bool = False, generator: Any = None,
) -> Any:  # fmt: skip
    """Return a leaky rectifier whose slope is the mean of those that training draws.

    Raises:
        ExprError: it is in training mode.
    """
    if training:
        raise ExprError("rrelu in training mode is not supported; call eval() of the model")
    result = op.leakyrelu(x, alpha=(float(lower) + float(upper)) / 2)
    return [result, noise] if isinstance(m.value, (list, tuple)) else result


@converts("prelu.default", "_prelu_kernel.default")
def _prelu(m: Importer, x: Any, weight: Any) -> Any:
    if len(weight.ty.dims) == 1 and weight.ty.dims[0] != 1:
        weight = op.reshape(weight, (-1, *[1] * (len(m.dims) - 2)))
    return op.where(op.greater(x, m.cast(0, m.dtype)), x, op.multiply(x, weight))


@converts("elu.default")
def _elu(
    m: Importer, x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Any:
    negative = op.expm1(op.multiply(x, m.cast(input_scale, m.dtype)))
    negative = op.multiply(negative, m.cast(alpha * scale, m.dtype))
    positive = x if scale == 1 else op.multiply(x, m.cast(scale, m.dtype))
    return op.where(op.greater(x, m.cast(0, m.dtype)), positive, negative)


@converts("celu.default")
def _celu(m: Importer, x: Any, alpha: float = 1.0) -> Any:
    return _elu(m, x, alpha, 1.0, 1.0 / alpha)


@converts("softplus.default")
def _softplus(m: Importer, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return op.softplus(x, beta=float(beta), threshold=float(threshold))


@converts("mish.default")
def _mish(m: Importer, x: Any) -> Any:
    return op.multiply(x, op.tanh(op.softplus(x)))


@converts("hardsigmoid.default")
def _hardsigmoid(m: Importer, x: Any) -> Any:
    shifted = op.add(x, m.cast(3, m.dtype))
    return op.divide(_clamp(m, shifted, 0, 6), m.cast(6, m.dtype))


@converts("hardswish.default")
def _hardswish(m: Importer, x: Any) -> Any:
    shifted = _clamp(m, op.add(x, m.cast(3, m.dtype)), 0, 6)
    return op.divide(op.multiply(x, shifted), m.cast(6, m.dtype))


@converts("log_sigmoid.default", "log_sigmoid_forward.default")
def _log_sigmoid(m: Importer, x: Any) -> Any:
    return op.negative(op.softplus(op.negative(x)))


@converts("erfc.default")
def _erfc(m: Importer, x: Any) -> Any:
    return op.subtract(m.cast(1, m.dtype), op.erf(m.cast(x, m.dtype)))


@converts("addcmul.default")
def _addcmul(m: Importer, x: Any, first: Any, second: Any, value: Any = 1) -> Any:
    return _add(m, x, _binary(op.multiply)(m, first, second), value)


@converts("addcdiv.default")
def _addcdiv(m: Importer, x: Any, first: Any, second: Any, value: Any = 1) -> Any:
    return _add(m, x, _div(m, first, second), value)


@converts("lerp.Scalar", "lerp.Tensor")
def _lerp(m: Importer, start: Any, end: Any, weight: Any) -> Any:
    return op.add(start, op.multiply(op.subtract(end, start), m.cast(weight, m.dtype)))


@converts("nan_to_num.default")
def _nan_to_num(
    m: Importer, x: Any, nan: float | None = None, posinf: float | None = None,
    neginf: float | None = None,
) -> Any:  # fmt: skip
    if "float" not in m.dtype:
        return x
    limits = torch.finfo(m.value.dtype)
    filled = op.where(op.isnan(x), m.cast(nan or 0.0, m.dtype), x)
    bounds = ((posinf, math.inf, limits.max), (neginf, -math.inf, limits.min))
    for given, infinity, limit in bounds:
        is_infinite = op.equal(x, m.cast(infinity, m.dtype))
        filled = op.where(is_infinite, m.cast(limit if given is None else given, m.dtype), filled)
    return filled


@converts(
    "_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default",
    "prims.convert_element_type.default",
)  # fmt: skip
def _to_copy(m: Importer, x: Any, *_: Any, **__: Any) -> Any:
    return converted(m, x, m.dtype)


def converted(m: Importer, x: Any, dtype: str) -> Any:
    """Return a tensor in another dtype by torch's rules: only 0 becomes False."""
    if dtype == "bool":
        return _truth(m, x)
    return m.cast(x, dtype)


@converts("bool.default")
def _bool(m: Importer, x: Any) -> Any:
    return _truth(m, x)


def lowest(dtype: str) -> float:
    """Return the number of a dtype that no other is below."""
    return dtype_limits(dtype)[0]


def is_symbolic(x: Any) -> bool:
    """Whether an argument is a size that only run time knows."""
    return isinstance(x, SymExpr) and x.value is None
