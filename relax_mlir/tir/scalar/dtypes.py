"""Dtypes of scalar expressions: names, TVM's promotion, ranges."""

import math
from typing import Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir import scalar
from relax_mlir.errors import ExprError, ExprTypeError

# What loop variables and sizes are.
SIZE = "int64"


def checked(dtype: Any) -> str:
    """Return the name of a dtype, given so or as numpy's.

    Raises:
        ExprError: there is none of that name.
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None:
        name = getattr(dtype, "__name__", str(dtype))
    try:
        name = T.normalize_dtype(name)
    except (ValueError, TypeError) as error:
        raise ExprError(f"'{dtype}' is no dtype: {error}") from error
    if not name:
        raise ExprError("a dtype is needed")
    return name


def is_dtype(name: str) -> bool:
    """Whether there is a dtype of a name."""
    try:
        return bool(T.normalize_dtype(name))
    except ValueError:
        return False


def is_float(dtype: str) -> bool:
    """Whether a dtype is floating-point."""
    return "float" in dtype


def is_unsigned(dtype: str) -> bool:
    """Whether a dtype is an unsigned integer or bool."""
    return dtype.startswith("uint") or dtype == "bool"


def bits(dtype: str) -> int:
    """Return the width of a number of the dtype; bool has one bit."""
    return 1 if dtype == "bool" else 8 * T.dtype_size(dtype)


def promoted(a: str, b: str) -> str:
    """Return the dtype that operands of two dtypes are converted to, TVM's rules.

    Raises:
        ExprTypeError: float16 and bfloat16, neither of which holds the other.
    """
    try:
        return scalar.promoted(a, b)
    except scalar.DtypeError as error:
        raise ExprTypeError(str(error)) from None


def lowest(dtype: str) -> int | float:
    """Return the smallest value of a dtype, minus infinity for floats."""
    if is_float(dtype):
        return -math.inf
    return 0 if is_unsigned(dtype) else -(1 << (bits(dtype) - 1))


def highest(dtype: str) -> int | float:
    """Return the largest value of a dtype, infinity for floats."""
    if is_float(dtype):
        return math.inf
    return (1 << bits(dtype)) - 1 if is_unsigned(dtype) else (1 << (bits(dtype) - 1)) - 1
