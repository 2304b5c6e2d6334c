"""The smallest and largest numbers of a dtype, and in which dtype to add up its numbers."""

import math

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
