"""int4 matrices of constants: packing two numbers in a byte, and unpacking.

A byte holds two numbers at a distance of half a group of rows. A kernel has one loop over the
halves and one over the bytes, so the shift is constant in the inner loop.
"""

from types import ModuleType

import numpy as np

from relax_mlir.dialects.bindings import submodule
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast

arith: ModuleType = submodule("dialects.arith")

# The least number of four bits with a sign.
_MIN_SIGNED = -8
_BITS = 4


def fits_int4(array: np.ndarray) -> bool:
    """Whether all numbers of an array of int8 or uint8 fit in four bits, with a sign or without."""
    least = _least(array.dtype)
    return bool((array >= least).all() and (array < least + (1 << _BITS)).all())


def pack_int4(matrix: np.ndarray, half: int) -> np.ndarray:
    """Return bytes of two rows each, the second `half` rows after the first in its upper bits.

    Args:
        matrix: of int8 or uint8, `[K, N]`, that fits.
        half: the distance of rows that share bytes; K is a multiple of twice that.
    """
    columns = matrix.shape[1]
    counted = (matrix.astype("int16") - _least(matrix.dtype)).astype("uint8")
    groups = counted.reshape(-1, 2, half, columns)
    return (groups[:, 0] | groups[:, 1] << _BITS).reshape(-1, columns)


def read_nibble(byte: Scalar, upper: Scalar, dtype: str) -> Scalar:
    """Write, at the insertion point, how one of a byte's two numbers is read.

    Args:
        byte: a uint8.
        upper: an index, 1 for the number in the upper bits, 0 for the other.
        dtype: of the number, int8 or uint8.
    """
    amount = cast(upper, "uint8") * _BITS
    # A shift by less than the width needs none of the care that others do.
    shifted = Scalar(arith.shrui(byte.value, amount.value), "uint8")
    value = binary("and", shifted, (1 << _BITS) - 1)
    return value if dtype == "uint8" else cast(value, "int8") + _MIN_SIGNED


def _least(dtype: np.dtype) -> int:
    return _MIN_SIGNED if dtype == np.int8 else 0
