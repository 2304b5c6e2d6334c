"""Nests over the same rows: rows near by and from beyond the cache have code of their own."""

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, script

# Of a row of this length so many do not fit any core's cache, of input and output together.
LENGTH, FAR = 523, 6000
# One of these alone takes more than half of the fastest cache.
LONG, FAR_LONG = 9001, 349
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
