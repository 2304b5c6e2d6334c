"""Matmul against numpy: every combination of ranks, broadcast batches, sizes around the tiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Program
from samples import FLOATS, INTEGERS, check, sample

# Sizes of n, m and k: empty, ones, odd and prime, larger than any tile.
SIZES = (
    (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 4, 0), (1, 67, 31), (67, 1, 31), (17, 13, 11),
    (67, 131, 67),
)  # fmt: skip
RANKS = (
    (["n", "k"], ["k", "m"]),
    (["k"], ["k"]),
    (["k"], ["k", "m"]),
    (["n", "k"], ["k"]),
)
BATCHES = (
    ([2, "n", "k"], ["k", "m"]),
    ([2, 1, "n", "k"], [3, "k", "m"]),
    (["n", "k"], ["m", "k", 5]),
    ([5, 7], [7, 3]),
    ([1, 64], [64, 32]),
    ([65, 1], [1, 67]),
    ([4, 0], [0, 3]),
    ([2, 3, 4, 5], [5]),
    (["n", 96], [96, 64]),
)


def _reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return np.asarray(np.matmul(a.astype("float64"), b.astype("float64"))).astype(a.dtype)
    return np.asarray(np.matmul(a, b))


def _run(vm: Any, name: str, dtype: str, sides: Any, sizes: tuple[int, ...]) -> None:
    named = dict(zip("nmk", sizes, strict=True))
    a, b = (
        sample([named.get(dim, dim) for dim in side], dtype, seed)
        for seed, side in enumerate(sides)
    )
    length = a.shape[-1]
    check(
        vm[name](a, b), _reference(a, b), ulps=8 + length**0.5, scale=9 * length**0.5,
        what=(dtype, sides, sizes),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_matmul(dtype: str) -> None:
    program = Program()
    wanted = RANKS + (BATCHES if dtype == "float32" else ())
    for index, (lhs, rhs) in enumerate(wanted):
        program.op(f"f{index}", "matmul", (lhs, dtype), (rhs, dtype))
    vm = program.build()
    for index, sides in enumerate(wanted):
        for sizes in SIZES:
            _run(vm, f"f{index}", dtype, sides, sizes)


def test_half_precision_is_summed_in_float32() -> None:
    program = Program()
    program.op("f", "matmul", (["n", "k"], "float16"), (["k", "m"], "float16"))
    a, b = np.ones((2, 4099), "float16"), np.ones((4099, 3), "float16")
    check(program.build()["f"](a, b), np.full((2, 3), np.float16(4099)))


_dim = st.sampled_from([0, 1, 2, 5, 8, 16, 17, 33])


@settings(max_examples=3)
@given(st.lists(st.tuples(_dim, _dim, _dim), min_size=4, max_size=4))
def test_static_sizes(cases: list[tuple[int, int, int]]) -> None:
    program = Program()
    for index, (n, m, k) in enumerate(cases):
        program.op(f"f{index}", "matmul", ([n, k], "float32"), ([k, m], "float32"))
    vm = program.build()
    for index, sizes in enumerate(cases):
        _run(vm, f"f{index}", "float32", (["n", "k"], ["k", "m"]), sizes)


def test_inner_sizes_that_only_run_time_compares() -> None:
    program = Program()
    program.op("f", "matmul", (["n", "k"], "float32"), (["j", "m"], "float32"))
    vm = program.build()
    a, b = sample((3, 4), "float32", 1), sample((4, 5), "float32", 2)
    check(vm["f"](a, b), _reference(a, b), scale=9)
    with pytest.raises(ValueError, match="matmul"):
        vm["f"](a, a)
