"""Row fusion: rows in cache and rows from memory have code of their own."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from targets import with_threads
from thread_counts import bits, check_bits

from relax_mlir import relax, script, tir
from relax_mlir.lowering.tir_to_vector import parallel_region

# Rows of this length that count as out of cache, of input and output together.
LENGTH, FAR = 523, 10100
# One of these alone takes more than half of the fastest cache.
LONG, FAR_LONG = 9001, 590
_FUNCTIONS = {
    "softmax": "R.nn.softmax(x, axis=-1)",
    "log_softmax": "R.nn.log_softmax(x, axis=-1)",
    "rms_norm": "R.nn.rms_norm(x, R.const(gamma), axes=[-1])",
}


def _rms_norm(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


REFERENCES = {
    "softmax": _softmax,
    "log_softmax": lambda x: np.log(_softmax(x)),
    "rms_norm": _rms_norm,
}


@pytest.fixture(scope="module")
def machine() -> Any:
    text = "@I.ir_module\nclass Rows:"
    for name, call in _FUNCTIONS.items():
        text += f"""
    @R.function
    def {name}(x: R.Tensor(("n", {LENGTH}), "float32")):
        with R.dataflow():
            y = {call}
            R.output(y)
        return y
"""
    text += f"""
    @R.function
    def long(x: R.Tensor(("n", {LONG}), "float32")):
        with R.dataflow():
            y = R.nn.softmax(x, axis=-1)
            R.output(y)
        return y
"""
    module = script.from_source(text, {"gamma": np.ones(LENGTH, "f4")})
    return relax.VirtualMachine(relax.build(module))


@pytest.mark.parametrize("name", REFERENCES)
def test_rows_near_and_far(machine: Any, name: str) -> None:
    x = np.random.default_rng(0).normal(size=(FAR, LENGTH)).astype("f4")
    far = machine[name](x)
    np.testing.assert_allclose(far, REFERENCES[name](x.astype("f8")), rtol=2e-5, atol=2e-6)
    for rows in (0, 1, 2, 17, 48):
        near = machine[name](x[:rows])
        assert near.shape == (rows, LENGTH)
        np.testing.assert_array_equal(near, far[:rows])


def test_long_rows_near_and_far(machine: Any) -> None:
    x = np.random.default_rng(0).normal(size=(FAR_LONG, LONG)).astype("f4")
    far = machine["long"](x)
    np.testing.assert_allclose(far, _softmax(x.astype("f8")), rtol=2e-5, atol=2e-6)
    for rows in (0, 1, 5):
        np.testing.assert_array_equal(machine["long"](x[:rows]), far[:rows])


def test_threads_share_long_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    text = "@I.ir_module\nclass Rows:"
    for name, call in _FUNCTIONS.items():
        # The rows of one are known, and its pieces are whole vectors.
        shape = ("2", "8192") if name == "log_softmax" else ('"n"', str(LONG))
        text += f"""
    @R.function
    def {name}(x: R.Tensor(({", ".join(shape)}), "float32")):
        with R.dataflow():
            y = {call.replace("gamma", "long_gamma")}
            R.output(y)
        return y
"""
    module = script.from_source(text, {"long_gamma": np.ones(LONG, "f4")})
    serial, threaded = (relax.VirtualMachine(relax.build(module, with_threads(n))) for n in (1, 5))
    for name, reference in REFERENCES.items():
        for rows in (2,) if name == "log_softmax" else (0, 1, 3, 4, 5):
            length = 8192 if name == "log_softmax" else LONG
            x = np.random.default_rng(rows).normal(size=(rows, length)).astype("f4")
            want = serial[name](x)
            np.testing.assert_allclose(want, reference(x.astype("f8")), rtol=2e-5, atol=2e-6)
            if rows == 3 and name == "softmax":
                x[1, 5000] = np.nan
                want = serial[name](x)
                assert np.isnan(want).any(axis=1).tolist() == [False, True, False]
            check_bits(partial(bits, threaded[name], x), want.tobytes())


@pytest.mark.parametrize("size", ["n", "9"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_of_numbers_that_are_in_no_buffer(size: str, dtype: str) -> None:
    """What is added up is one operation, but no load."""
    source = f"""from relax_mlir.script import tir as T
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 3), "{dtype}")
    B = T.match_buffer(b, ({size},), "{dtype}")
    for i, j, k in T.grid({size}, n, 4):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                B[vi] = T.{dtype}(0)
            B[vi] = B[vi] + T.{dtype}(1) * T.{dtype}(2)
"""
    found = np.empty(9, dtype)
    tir.build(script.from_source(source))["main"](np.empty((9, 3), dtype), found)
    np.testing.assert_array_equal(found, np.full(9, 72, dtype))
