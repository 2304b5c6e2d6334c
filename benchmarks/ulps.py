"""Errors of floating-point results in units in the last place."""

from typing import Any

import ml_dtypes
import numpy as np

_EXPONENT = np.int64(0x7FF << 52)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the distance of each result from the exact number.

    Args:
        got: results of any floating-point dtype.
        exact: the same in more precision, float64 or np.longdouble.

    Returns:
        Units in the last place of what `got` can hold around the exact number; below its normal
        numbers those are its smallest number. Infinity where there is NaN or infinity on one side
        only, except next to the overflow, and where signs differ, those of zeros included.
    """
    limits = ml_dtypes.finfo(got.dtype)
    wide = got.astype(exact.dtype)
    unit = np.maximum(_power_below(exact), exact.dtype.type(limits.smallest_normal))
    with np.errstate(all="ignore"):
        error = np.abs(wide - exact) / (unit * exact.dtype.type(limits.eps))
    strange = ~np.isfinite(error)
    if strange.any():
        error[strange] = _of_strange(wide[strange], exact[strange], limits)
    error[(np.signbit(wide) != np.signbit(exact)) & ~np.isnan(wide)] = np.inf
    return error


def _of_strange(got: np.ndarray, exact: np.ndarray, limits: Any) -> np.ndarray:
    """Return the errors where a side is NaN or infinite."""
    # The number after the largest stands for infinity; its unit is that of the largest.
    last = exact.dtype.type(2) ** (limits.maxexp - 1)
    unit = last * exact.dtype.type(limits.eps)
    with np.errstate(all="ignore"):
        beyond = np.maximum((2 * last - np.abs(exact)) / unit, 0)
    error = np.where(np.isinf(got) & ~np.isnan(exact), beyond, np.inf)
    return np.where(np.isnan(got) & np.isnan(exact), 0.0, error)


def _power_below(x: np.ndarray) -> np.ndarray:
    """Return the power of two that is next to a magnitude from below, or is it."""
    if x.dtype == np.float64:
        return (x.view(np.int64) & _EXPONENT).view(np.float64)
    return np.ldexp(x.dtype.type(1), np.frexp(x)[1] - 1)
