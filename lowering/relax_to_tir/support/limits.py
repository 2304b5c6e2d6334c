"""Smallest and largest numbers of a dtype, and the dtypes of sums and comparisons."""

import math
from collections.abc import Sequence

import numpy as np

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.scalar import is_float, is_unsigned

# Sums of half-precision products lose all accuracy unless they are kept in float32.
ACCUMULATE = {"float16": "float32", "bfloat16": "float32"}
# Sums of small integers wrap around the same in more bits, which the CPU's vectors have sums of.
ADD_UP_IN = {
    **ACCUMULATE, "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32",
}  # fmt: skip


def lowest(dtype: str) -> int | float:
    """Return the smallest value of a dtype, minus infinity for floats."""
    if is_float(dtype):
        return -math.inf
    return 0 if is_unsigned(dtype) else -(1 << (8 * T.dtype_size(dtype) - 1))


def highest(dtype: str) -> int | float:
    """Return the largest value of a dtype, infinity for floats."""
    if is_float(dtype):
        return math.inf
    if dtype == "bool":
        return 1
    bits = 8 * T.dtype_size(dtype)
    return (1 << bits) - 1 if is_unsigned(dtype) else (1 << (bits - 1)) - 1


def common_dtype(dtypes: Sequence[str]) -> str:
    """Return the dtype in which numbers of several are compared, as numpy has it."""
    if len(set(dtypes)) == 1:
        return dtypes[0]
    # numpy does not know bfloat16; float32 is the least that has its numbers and float16's.
    names = ["float32" if dtype == "bfloat16" else dtype for dtype in dtypes]
    return np.result_type(*names).name


def mean_in(dtype: str, count: int) -> tuple[str, str]:
    """Return in which dtype to add up so many numbers, and in which to divide the sum.

    Quotients of integers are cut off, as TVM does it: those of floats are the same after that
    where floats hold the sums, and vectors have no division of integers.
    """
    if is_float(dtype):
        wide = ACCUMULATE.get(dtype, dtype)
        return wide, wide
    bits, sign = 8 * T.dtype_size(dtype), "u" * is_unsigned(dtype)
    most = count << bits
    if bits < 32 and most < 1 << 31:
        return f"{sign}int32", "float32" if most <= 1 << 24 else "float64"
    if bits <= 32 and most <= 1 << 53:
        return "float64", "float64"
    return f"{sign}int64", f"{sign}int64"
