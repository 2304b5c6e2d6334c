"""Constants of one element are numbers in the kernels that read them."""

import math
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, script

pytestmark = pytest.mark.unoptimized

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_FLOATS = ["float16", "float32", "float64", "bfloat16"]
_BODY = """
    @R.function
    def {name}(x: R.Tensor(("n", 5), "{dtype}"){more}):
        with R.dataflow():
            {lines}
            R.output(y)
        return y
"""


def _module(functions: str) -> Any:
    return script.from_source("@I.ir_module\nclass Constants:" + functions)


def _function(name: str, dtype: str, *lines: str, more: str = "") -> str:
    body = ("\n" + " " * 12).join(lines)
    return _BODY.format(name=name, dtype=dtype, lines=body, more=more)


def _dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def _programs(dtype: str, number: str) -> str:
    """Return operations of a number: one that is a constant, and one that is an argument."""
    operations = {
        "right": "R.subtract(x, {})", "left": "R.subtract({}, x)", "most": "R.maximum(x, {})",
        "less": "R.less({}, x)", "where": "R.where(R.less(x, {0}), x, R.add({0}, {0}))",
        "divide": "R.floor_divide(x, {})",
    }  # fmt: skip
    made = ""
    for name, spelt in operations.items():
        known = f"R.const({number}, '{dtype}')"
        made += _function(name, dtype, f"y = {spelt.format(known)}")
        given = f', c: R.Tensor((), "{dtype}")'
        made += _function(f"{name}_given", dtype, f"y = {spelt.format('c')}", more=given)
    return made


@pytest.mark.parametrize("dtype", [*_INTEGERS, *_FLOATS])
def test_as_the_same_number_given_at_run_time(dtype: str) -> None:
    kind = _dtype(dtype)
    number = str(np.iinfo(kind).max) if kind.kind in "iu" else "-1.3"
    machine = relax.VirtualMachine(relax.build(_module(_programs(dtype, number))))
    constant = np.array(int(number) if kind.kind in "iu" else float(number), kind)
    numbers = np.random.default_rng(0).uniform(0, 100, (7, 5)).astype(kind)
    numbers[0, :3] = constant, 0, 1
    for x in (numbers, numbers[:0]):
        for name in ("right", "left", "most", "less", "where", "divide"):
            got, want = machine[name](x), machine[f"{name}_given"](x, constant)
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=name)


def test_special_numbers() -> None:
    numbers = ("1e400", "-1e400", "-0.0", "1e-45")
    functions = [
        _function(f"f{i}", "float32", f"y = R.multiply(x, R.const({number}, 'float32'))")
        for i, number in enumerate(numbers)
    ]
    machine = relax.VirtualMachine(relax.build(_module("".join(functions))))
    x = np.float32([[0.0, -0.0, 1, -2, np.inf]])
    for i, number in enumerate(numbers):
        with np.errstate(all="ignore"):
            want = x * np.float32(number)
        got = np.asarray(machine[f"f{i}"](x))
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


GELU = (
    "a = R.divide(x, R.const(1.4142135623730951, 'float32'))",
    "b = R.add(R.erf(a), R.const(1.0, 'float32'))",
    "y = R.multiply(R.multiply(x, b), R.const(0.5, 'float32'))",
)


def test_a_gelu_written_out_is_one_function() -> None:
    """The digits of small results are those of the function, not of 1 + erf."""
    machine = relax.VirtualMachine(relax.build(_module(_function("f", "float32", *GELU))))
    x = -np.linspace(0, 12, 1005, dtype="f4").reshape(201, 5)
    exact = np.vectorize(lambda v: v * 0.5 * math.erfc(-v * math.sqrt(0.5)))(x.astype("f8"))
    unit = np.maximum(np.spacing(np.abs(exact).astype("f4")), 1e-45)
    assert np.max(np.abs(np.asarray(machine["f"](x)) - exact) / unit) <= 4.0


def test_equal_functions_of_different_numbers_are_different() -> None:
    lines = [f"y{i} = R.add(x, R.const({i}.0, 'float32'))" for i in range(3)]
    lines.append("y = R.concat((y0, y1, y2), 1)")
    machine = relax.VirtualMachine(relax.build(_module(_function("f", "float32", *lines))))
    x = np.random.default_rng(0).standard_normal((3, 5)).astype("f4")
    want = np.concatenate([x + np.float32(i) for i in range(3)], 1)
    np.testing.assert_array_equal(np.asarray(machine["f"](x)), want)
