"""Kernels of `unique`: numpy's results, of every dtype, flat and along axes."""

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from programs import Program
from samples import FLOATS, INTEGERS

DTYPES = (*FLOATS, *INTEGERS, "bool")
# About the length up to which rows are sorted by counting.
LENGTHS = (0, 1, 2, 17, 95, 96, 97, 1009, 5003)
_NAMES = ("return_index", "return_inverse", "return_counts")


def _few(shape: Any, dtype: str, seed: int = 0) -> np.ndarray:
    """Return numbers of which many are equal, among floats both zeros, NaN and infinities."""
    rng = np.random.default_rng(seed)
    few = np.array([0, 1, 1, 3, 90, 127], dtype)
    if dtype in FLOATS:
        few = np.array([0.0, -0.0, np.nan, -np.inf, np.inf, 1.5, -1.5, -np.nan], dtype)
    elif dtype != "bool":
        few = np.concatenate([few, np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)])
    return few[rng.integers(0, len(few), shape)]


def _wanted(x: np.ndarray, sorted_: bool, axis: int | None) -> list[np.ndarray]:
    values, index, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted_:
        order = np.argsort(index, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values = values.take(order, axis=axis or 0)
        index, inverse, counts = index[order], rank[inverse], counts[order]
    return [values, index, inverse, counts]


def _check(got: Any, x: np.ndarray, sorted_: bool, axis: int | None, asked: Any) -> None:
    values, *extra = _wanted(x, sorted_, axis)
    wanted = [values, *(e for e, is_asked in zip(extra, asked, strict=True) if is_asked)]
    found = list(got) if any(asked) else [got]
    assert len(found) == len(wanted)
    for one, other in zip(map(np.asarray, found), wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


def test_every_dtype_and_length() -> None:
    program = Program()
    asked = dict.fromkeys(_NAMES, True)
    for dtype in DTYPES:
        program.op(dtype, "unique", (["n"], dtype), **asked)
    vm = program.build()
    for dtype, length in itertools.product(DTYPES, LENGTHS):
        for x in (_few(length, dtype), np.zeros(length, dtype)):
            _check(vm[dtype](x), x, True, None, (True, True, True))


@pytest.mark.parametrize("sorted_", [True, False])
def test_axes_and_what_is_asked(sorted_: bool) -> None:
    program = Program()
    asked = list(itertools.product((False, True), repeat=3))
    cases = {"flat": (["a", "b"], None), "rows": (["a", "b"], 0), "columns": (["a", "b"], -1),
             "middle": (["a", 3, "b"], 1), "one": (["n"], 0), "known": ([4, 6, 2], 2)}  # fmt: skip
    for name, (shape, axis) in cases.items():
        for choice in asked if name == "flat" else ((True, True, True), (False, False, False)):
            flags = dict(zip(_NAMES, choice, strict=True))
            text = "".join(map(str, map(int, choice)))
            program.op(
                f"{name}{text}", "unique", (shape, "float32"), sorted=sorted_, axis=axis, **flags
            )
    vm = program.build()
    shapes = {"flat": [(0, 3), (7, 11), (13, 50)], "middle": [(2, 3, 2), (5, 3, 1), (0, 3, 2)],
              "rows": [(0, 2), (1, 1), (200, 2), (9, 0), (97, 1)], "columns": [(2, 150), (1, 4)],
              "one": [(0,), (5,), (300,)], "known": [(4, 6, 2)]}  # fmt: skip
    for name, (_, axis) in cases.items():
        for shape in shapes[name]:
            x = _few(shape, "float32", len(shape))
            for choice in asked if name == "flat" else ((True, True, True), (False, False, False)):
                text = "".join(map(str, map(int, choice)))
                _check(vm[f"{name}{text}"](x), x, sorted_, axis, choice)


def test_bfloat16() -> None:
    """Which the library refuses; NaN is one, and so is zero."""
    program = Program()
    program.op("f", "unique", (["n"], "bfloat16"), return_counts=True)
    x = _few(1000, "float32").astype(ml_dtypes.bfloat16)
    values, counts = program.build()["f"](x)
    wanted = np.unique(x.astype("float32"), return_counts=True)
    np.testing.assert_array_equal(values.astype("float32"), wanted[0])
    np.testing.assert_array_equal(counts, wanted[1])
