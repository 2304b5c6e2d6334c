"""Test data for kernels, and comparison with a reference."""

from typing import Any

import numpy as np

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
# Empty, one element, less than a vector, odd and prime, more than any tile.
LENGTHS = (0, 1, 7, 67, 1009)
_FLOAT_EDGES = (
    np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, 80, -80, 100, -100,
    700, -700, 1e4, -1e4,
)  # fmt: skip


def edges(dtype: str) -> np.ndarray:
    """Return the values of a dtype at which functions go wrong."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in FLOATS:
        limits = np.finfo(dtype)
        return np.array([*_FLOAT_EDGES, limits.max, limits.min, limits.tiny], dtype)
    limits = np.iinfo(dtype)
    negative = [-1, -2, -7] if limits.min else []
    return np.array([0, 1, limits.max, limits.min, 2, 3, 7, *negative], dtype)


def sample(shape: Any, dtype: str, seed: int = 0, scale: float = 3.0) -> np.ndarray:
    """Return random numbers: floats around zero, integers over their whole range."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        return rng.normal(0, scale, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def with_edges(length: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Return a vector that begins with the edges of its dtype."""
    values, special = sample(length, dtype, seed), edges(dtype)
    values[: len(special)] = special[:length]
    return values


def pairs(length: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return two vectors that begin with every pair of edges."""
    lhs, rhs, special = sample(length, dtype, 1), sample(length, dtype, 2), edges(dtype)
    size = min(length, len(special) ** 2)
    lhs[:size] = np.repeat(special, len(special))[:size]
    rhs[:size] = np.tile(special, len(special))[:size]
    return lhs, rhs


def check(got: Any, wanted: Any, *, ulps: float = 8, scale: float = 0.0, what: Any = "") -> None:
    """Assert equal dtype, shape and numbers; floats within some units in the last place.

    Args:
        got: the result.
        wanted: the reference.
        ulps: allowed error in units of the dtype's precision, relative to the number.
        scale: magnitude, to whose precision the error may come up besides.
        what: the case, for the message.
    """
    wanted = np.asarray(wanted)
    assert isinstance(got, np.ndarray), (what, got)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), what
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(got, wanted, err_msg=str(what))
        return
    limits = np.finfo(wanted.dtype)
    np.testing.assert_allclose(
        got.astype("float64"),
        wanted.astype("float64"),
        rtol=ulps * float(limits.eps),
        atol=ulps * (float(limits.eps) * scale + float(limits.smallest_subnormal)),
        err_msg=str(what),
    )
