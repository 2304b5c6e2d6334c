"""Unsigned sort keys in the order in which numpy sorts a dtype."""

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir.scalar import (
    Scalar,
    binary,
    cast,
    is_float,
    is_unsigned,
    reinterpret,
    select,
)

# The bits of infinity: more than these, without the sign, is NaN.
_INFINITY = {
    "float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF << 52,
}  # fmt: skip


def key_bits(dtype: str) -> int:
    """Return how many bits the keys of a dtype have."""
    return 8 if dtype == "bool" else 8 * T.dtype_size(dtype)


def key_dtype(dtype: str) -> str:
    """Return the dtype of the keys of a dtype."""
    return f"uint{key_bits(dtype)}"


def sort_key(value: Scalar, descending: bool) -> Scalar:
    """Return the key of a number: less for what goes first, equal for what keeps its order.

    All NaN are equal and go after every number, with `descending` before; so are the two zeros.
    """
    key = _ascending(value)
    most = (1 << key_bits(value.dtype)) - 1
    return binary("sub", most, key) if descending else key


def _ascending(value: Scalar) -> Scalar:
    dtype, key = value.dtype, key_dtype(value.dtype)
    top = 1 << (key_bits(dtype) - 1)
    if dtype == "bool" or is_unsigned(dtype):
        return cast(value, key)
    bits = reinterpret(value, key)
    if not is_float(dtype):
        return binary("xor", bits, top)
    size = binary("and", bits, top - 1)
    negative = binary("sub", top, size)
    # The size of zero is 0, so that both zeros become the same key.
    ordered = select(bits < top, binary("add", size, top), negative)
    return select(size > _INFINITY[dtype], 2 * top - 1, ordered)
