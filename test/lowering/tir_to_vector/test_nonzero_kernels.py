"""Kernels that find what is not zero: numpy's places, and the same bits on threads."""

from typing import Any

import numpy as np
import pytest
from programs import Program, tensor
from samples import FLOATS, INTEGERS
from targets import with_threads

from relax_mlir import relax
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.script import from_source

pytestmark = pytest.mark.unoptimized

DTYPES = (*FLOATS, *INTEGERS, "bool")
# About the length of a block.
LENGTHS = (0, 1, 2, 17, 2047, 2048, 2049, 10007)


def _sparse(shape: Any, dtype: str) -> np.ndarray:
    """Return zeros and others, among floats both zeros, NaN and what is next to zero."""
    rng = np.random.default_rng(3)
    few = np.array([0, 0, 1, 0, 1], dtype)
    if dtype in FLOATS:
        tiny = np.finfo(dtype).smallest_subnormal
        few = np.array([0.0, -0.0, np.nan, -tiny, tiny, np.inf], dtype)
    elif dtype != "bool":
        few = np.array([0, np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
    return few[rng.integers(0, len(few), shape)]


def _check(got: Any, x: np.ndarray) -> None:
    wanted, got = np.stack(np.nonzero(x)), np.asarray(got)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)


def test_every_dtype_and_length() -> None:
    program = Program()
    for dtype in DTYPES:
        program.op(dtype, "nonzero", (["n"], dtype))
    vm = program.build()
    for dtype in DTYPES:
        for length in LENGTHS:
            x = _sparse(length, dtype)
            _check(vm[dtype](x), x)
            _check(vm[dtype](np.zeros_like(x)), np.zeros_like(x))
            _check(vm[dtype](np.ones_like(x)), np.ones_like(x))


def test_axes_and_threads() -> None:
    shapes = {
        "three": [(0, 3, 4), (5, 0, 2), (1, 1, 1), (7, 11, 131), (3, 5000, 2), (200, 100, 101)],
        "four": [(3, 1, 53, 7)],
    }
    program = Program()
    program.op("three", "nonzero", (["a", "b", "c"], "float32"))
    program.op("four", "nonzero", ([3, 1, 53, 7], "int16"))
    program.function(
        "half",
        lambda: [tensor(["n"])],
        lambda x: relax_op("nonzero", [relax_op("astype", [x], {"dtype": "bfloat16"})], {}),
    )
    one = program.build(target=with_threads(1))
    several = program.build(target=with_threads(3))
    for name, each in shapes.items():
        for shape in each:
            x = _sparse(shape, "float32" if name == "three" else "int16")
            _check(one[name](x), x)
            _check(several[name](x), x)
    x = np.array([0.0, -0.0, 1e-38, np.nan, 3.0, 0.0] * 700, "float32")
    _check(one["half"](x), x)


def test_names_of_sizes_do_not_meet() -> None:
    program = Program()

    def body(x: Any, y: Any) -> Any:
        places = [relax_op("nonzero", [each], {}) for each in (x, y, x)]
        return relax_op("concat", [make_tuple(places)], {"axis": 1})

    program.function("f", lambda: [tensor(["size0"]), tensor(["size2"], "int8")], body)
    x, y = _sparse(300, "float32"), _sparse(77, "int8")
    wanted = np.concatenate([np.stack(np.nonzero(each)) for each in (x, y, x)], 1)
    np.testing.assert_array_equal(np.asarray(program.build()["f"](x, y)), wanted)


BRANCHES = """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor(("n",), "float32"), first: R.Tensor((), "bool")):
        n = T.int64()
        if first:
            with R.dataflow():
                a = R.nonzero(x)
                b = R.add(a, a)
                R.output(b)
            y = b
        else:
            c = R.nonzero(R.multiply(x, x))
            y = c
        return y
"""


@pytest.mark.parametrize("first", [False, True])
def test_inside_branches_and_dataflow(first: bool) -> None:
    vm = relax.VirtualMachine(relax.build(from_source(BRANCHES)))
    x = np.arange(5000, dtype="float32") % 3
    got = np.asarray(vm["f"](x, np.array(first)))
    np.testing.assert_array_equal(got, np.stack(np.nonzero(x)) * (2 if first else 1))
