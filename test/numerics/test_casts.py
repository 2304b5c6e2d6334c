"""Casts between floats and integers: numbers out of range, NaN, and one rounding only."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_mlir import relax, script
from relax_mlir.runtime import get_global_func
from relax_mlir.runtime.library import PREFIX

pytestmark = pytest.mark.unoptimized

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
WIDE = ("int32", "uint32", "int64", "uint64")
_FUNCTION = """
    @R.function
    def {0}_{1}(x: R.Tensor(("n",), "{0}")):
        with R.dataflow():
            y = R.astype(x, "{1}")
            R.output(y)
        return y
"""


@pytest.fixture(scope="module")
def machine() -> Any:
    pairs = [(a, b) for a in FLOATS for b in INTEGERS] + [
        (a, "bfloat16") for a in (*WIDE, "float64")
    ]
    functions = "".join(_FUNCTION.format(*pair) for pair in pairs)
    return relax.VirtualMachine(
        relax.build(script.from_source("@I.ir_module\nclass Casts:" + functions))
    )


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def limits() -> list[float]:
    powers = [2.0**n for n in (7, 8, 15, 16, 31, 32, 63, 64)]
    ends = [p + d for p in powers for d in (-1, -0.5, 0, 0.5, 1)]
    return [0.0, -0.5, 1.9, 1e30, np.inf, np.nan, *ends]


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_out_of_range_saturate(machine: Any, source: str, target: str) -> None:
    """In whole vectors and in what is left of them, in kernels and in the library."""
    with np.errstate(all="ignore"):
        x = np.array([s * v for v in limits() for s in (1, -1)]).astype(dtype_of(source))
    info = np.iinfo(target)
    want = [
        0 if np.isnan(v) else int(min(max(v, -(2.0**70)), 2.0**70)) for v in x.astype("float64")
    ]
    want = np.array([min(max(v, info.min), info.max) for v in want], target)
    for n in (len(x), len(x) - 5, 3):
        np.testing.assert_array_equal(machine[f"{source}_{target}"](x[:n]), want[:n])
    np.testing.assert_array_equal(get_global_func(f"{PREFIX}astype")(x, target), want)


@pytest.mark.parametrize("source", WIDE)
def test_integers_are_rounded_once(machine: Any, source: str) -> None:
    """Just beside the middle of two bfloat16, where another rounding ends."""
    info = np.iinfo(source)
    rng = np.random.default_rng(0)
    places = [n for n in range(9, 64) if 2**n <= info.max]
    near = [
        (2**n + odd * 2 ** (n - 8) + d)
        for n in places
        for odd in (1, 3, 255)
        for d in (-(2 ** max(0, n - 30)), -1, 0, 1, 2 ** max(0, n - 30))
    ]
    near += [-v for v in near] + [0, 1, info.max, info.min]
    near = [v for v in near if info.min <= v <= info.max]
    x = np.concatenate([np.array(near, source), rng.integers(info.min, info.max, 200, source)])
    want = np.array([nearest(int(v)) for v in x])
    library = get_global_func(f"{PREFIX}astype")
    for got in (machine[f"{source}_bfloat16"](x), library(x, "bfloat16")):
        np.testing.assert_array_equal(np.asarray(got).astype("float64"), want)


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", "bool"])
def test_the_library_casts_bfloat16(target: str) -> None:
    x = np.arange(1 << 16).astype(np.uint16).view(ml_dtypes.bfloat16)
    got = get_global_func(f"{PREFIX}astype")(x, target)
    assert got.dtype == dtype_of(target)
    with np.errstate(all="ignore"):
        want = x.astype("float32").astype(dtype_of(target))
        np.testing.assert_array_equal(got.astype("float64"), want.astype("float64"))


def test_doubles_are_rounded_once(machine: Any) -> None:
    middle = 1 + 2.0**-8
    x = np.array([middle, middle + 2.0**-40, -middle - 2.0**-40, middle - 2.0**-40, 1e300, np.nan])
    got = machine["float64_bfloat16"](x)
    want = [1, 1 + 2.0**-7, -1 - 2.0**-7, 1, np.inf, np.nan]
    np.testing.assert_array_equal(np.asarray(got).astype("float64"), want)


def nearest(number: int) -> float:
    """Return the bfloat16 nearest to an integer, the even one of two."""
    unit = Fraction(2) ** (max(abs(number).bit_length(), 8) - 8)
    return float(round(number / unit) * unit)
