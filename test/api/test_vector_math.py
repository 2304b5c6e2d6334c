"""Elementwise operations over all kinds of floats: infinities, NaN, denormals, any bit pattern."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, script

_ERF = np.vectorize(math.erf, otypes=[float])
REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _ERF, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "nn.relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)), "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc, "square": np.square,
    "sign": np.sign, "negative": np.negative,
    "nn.softplus": lambda x: np.where(x > 20, x, np.log1p(np.exp(x))),
}  # fmt: skip
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, -1e-38, 1e-40, 88.7, 89, -88,
         -103.9, -104.5, 3.4e38, -3.4e38, 1, -1, 0.5, -0.5, 0.999, 1.001, 2.5, -2.5]  # fmt: skip
_FUNCTION = """
    @R.function
    def {}(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.{}(x)
            R.output(y)
        return y
"""


@pytest.fixture(scope="module")
def machine() -> Any:
    functions = "".join(_FUNCTION.format(n.replace(".", "_"), n) for n in REFERENCES)
    module = script.from_source("@I.ir_module\nclass Math:" + functions)
    return relax.VirtualMachine(relax.build(module))


@pytest.mark.parametrize("name", REFERENCES)
def test_ulps_over_the_whole_range(machine: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    ordinary = rng.uniform(-30, 30, 20_000).astype("f4")
    # A length that leaves lanes over at the end.
    x = np.concatenate([np.float32(EDGES), patterns, ordinary])[:-3]
    got = machine[name.replace(".", "_")](x)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](x.astype("f8"))
        want = exact.astype("f4")
        finite = np.isfinite(want) & np.isfinite(got)
        unit = np.maximum(np.spacing(np.abs(want[finite])), np.float32(1e-45))
        error = np.abs(got[finite] - exact[finite]) / unit
    np.testing.assert_array_equal(got[~finite], want[~finite])
    assert error.max() <= 2.5
