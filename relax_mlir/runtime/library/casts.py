"""Casts at run time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.library.operands import check
from relax_mlir.runtime.values.convert import BFLOAT16, numpy_dtype

_Array = np.ndarray


def _astype(x: _Array, dtype: str) -> Any:
    check(x)
    target = numpy_dtype(dtype)
    if target.name == BFLOAT16 and x.dtype.kind in "iu" and x.dtype.itemsize >= 4:
        x = _near_single(x)
    is_cut = target.kind in "iu" and x.dtype.kind == "f"
    return _saturated(x, target) if is_cut else x.astype(target)


def _near_single(x: _Array) -> _Array:
    """Return integers as float32 that a narrower float rounds as it would the integers.

    Where one is not exact, it is the one of its two neighbours that is odd.
    """
    if x.dtype.itemsize == 8:
        lost = x.dtype.type((1 << 12) - 1)
        odd = np.where(x & lost, lost + x.dtype.type(1), x.dtype.type(0))
        is_small = (x < 1 << 53) if x.dtype.kind == "u" else (x < 1 << 53) & (x > -(1 << 53))
        x = np.where(is_small, x, (x & ~lost) | odd)
    wide = x.astype(np.float64)
    single = wide.astype(np.float32)
    bits = single.view(np.uint32) - (np.abs(single) > np.abs(wide))
    return (bits | (single != wide)).astype(np.uint32).view(np.float32)


def _saturated(x: _Array, dtype: np.dtype) -> _Array:
    """Return floats as integers, the nearest that there are, and 0 of NaN, as kernels do."""
    wide = x.astype(np.float64)
    limits = np.iinfo(dtype)
    above, below = wide >= 2.0 ** (limits.max.bit_length()), wide <= float(limits.min)
    inside = ~(above | below | np.isnan(wide))
    result = np.where(inside, wide, 0.0).astype(dtype)
    result[above] = limits.max
    result[below] = limits.min
    return result


# Name -> function of the operands, then the attributes in their declared order.
CASTS: dict[str, Callable[..., Any]] = {"astype": _astype}
