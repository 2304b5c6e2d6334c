"""Elementwise functions."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import arithmetic, conversion, intrinsics
from relax_mlir.tir.scalar.dtypes import checked, is_float
from relax_mlir.tir.scalar.functions import reinterpret as bits
from relax_mlir.topi.support import narrowed, scalar, spelled, tensor

_NAMES = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "cos", "cosh",
    "erf", "exp", "exp2", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p",
    "log2", "logical_not", "negative", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
)  # fmt: skip


def function(name: str) -> Callable[[Any], Any]:
    """Return the function of tensors, or scalars, that applies an intrinsic to each element."""

    def apply(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return intrinsics.unary(name, x)
        return compute(x.shape, lambda *i: intrinsics.unary(name, x[i]), name=f"T_{name}")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"Return {name} of each element of a tensor."
    return apply


FUNCTIONS = {name: function(name) for name in _NAMES}
for _name in ("bitwise_not", "logical_not"):
    # As TVM calls their argument.
    FUNCTIONS[_name] = spelled(FUNCTIONS[_name], x="data")


def identity(x: Tensor) -> Tensor:
    """Return a copy."""
    return compute(tensor(x, "identity").shape, lambda *i: x[i], name="T_identity")


def cast(x: Any, dtype: Any) -> Any:
    """Return each element converted to a dtype; itself where it has that."""
    if not isinstance(x, Tensor):
        return conversion.cast(x, dtype)
    return narrowed(x, checked(dtype), "T_cast")


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """Return the bits of each element as a number of another dtype of the same width."""
    return compute(x.shape, lambda *i: bits(dtype, x[i]), name="T_reinterpret")


def clip(x: Tensor, a_min: Any, a_max: Any) -> Tensor:
    """Return each element, but none below `a_min` or above `a_max`."""
    source = tensor(x, "clip")
    if isinstance(a_min, (int, float)) and isinstance(a_max, (int, float)):
        limits = {"min": a_min, "max": a_max}
        return compute(
            x.shape, lambda *i: intrinsics.call("clip", [source[i]], limits), name="T_clip"
        )
    low, high = (scalar(value, x.dtype) for value in (a_min, a_max))
    return compute(
        x.shape,
        lambda *i: arithmetic.binary("min", arithmetic.binary("max", source[i], low), high),
        name="T_clip",
    )


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors of one shape.

    Raises:
        ExprError: there is none.
    """
    if not xs:
        raise ExprError("topi.elemwise_sum takes one tensor or more")
    return compute(
        xs[0].shape,
        lambda *i: functools.reduce(lambda a, b: a + b, (x[i] for x in xs)),
        name="T_elemwise_sum",
    )


# The functions are fast and exact to a few units in the last place as they are.
fast_exp, fast_tanh, fast_erf = (FUNCTIONS[name] for name in ("exp", "tanh", "erf"))


def ceil_log2(x: Any) -> Any:
    """Return the logarithm to base 2 of positive numbers, rounded up; of integers exactly."""
    if isinstance(x, Tensor):
        return compute(x.shape, lambda *i: ceil_log2(x[i]), name="T_ceil_log2")
    value = conversion.as_expr(x)
    if is_float(value.dtype):
        return intrinsics.unary("ceil", intrinsics.unary("log2", value))
    before = conversion.cast(value - 1, "int64")
    bits = 64 - conversion.cast(intrinsics.unary("clz", before), "int64")
    return conversion.cast(bits, value.dtype)
