"""Scans in vectors, and runs of elements copied from computed places, against numpy."""

from typing import Any

import numpy as np
import pytest
from programs import Program, tensor

from relax_mlir.dialects.relax import build as relax_op

pytestmark = pytest.mark.unoptimized

# Less than a vector, one, around several, and none.
LENGTHS = (0, 1, 7, 16, 17, 33, 64, 67, 131, 1009)


def _numbers(shape: Any, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    # Sums of small integers are exact in every dtype, in every order.
    return rng.integers(-2 if dtype[0] != "u" else 0, 3, shape).astype(dtype)


@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_of_exact_numbers(exclusive: bool) -> None:
    cases = [
        ("float32", "float32"), ("float64", "float64"), ("float16", "float16"),
        ("int8", "int8"), ("int16", "int64"), ("int32", "int32"), ("int64", "int64"),
        ("uint8", "uint64"), ("bool", "int32"), ("int32", "float32"),
    ]  # fmt: skip
    program = Program()
    for dtype, out in cases:
        for axis in (0, 1, 2, None):
            more = {"axis": axis, "dtype": out, "exclusive": exclusive}
            program.op(f"s{dtype}{out}{axis}", "cumsum", (["a", "b", "c"], dtype), **more)
    program.op("product", "cumprod", (["a", "b"], "int32"), axis=1, exclusive=exclusive)
    vm = program.build()
    for dtype, out in cases:
        for axis in (0, 1, 2, None):
            for length in LENGTHS:
                shape = {0: (length, 2, 5), 1: (2, length, 9), 2: (2, 3, length)}.get(
                    axis, (1, 2, length)
                )
                x = _numbers(shape, dtype)
                wanted = np.cumsum(x.astype(out), axis, dtype=out)
                if exclusive:
                    wanted = wanted - x.astype(out).reshape(wanted.shape)
                got = vm[f"s{dtype}{out}{axis}"](x)
                assert got.dtype == wanted.dtype
                np.testing.assert_array_equal(got, wanted, str((dtype, out, axis, shape)))
    x = np.arange(1, 3 * 71 + 1, dtype="int32").reshape(3, 71)
    wanted = np.cumprod(x, 1, dtype="int32")
    if exclusive:
        wanted = np.concatenate([np.ones((3, 1), "int32"), wanted[:, :-1]], 1)
    np.testing.assert_array_equal(vm["product"](x), wanted)


def test_scans_of_special_numbers() -> None:
    program = Program()
    program.op("row", "cumsum", (["n"], "float32"), axis=0)
    program.op("column", "cumsum", (["n", "m"], "float32"), axis=0)
    program.op("product", "cumprod", ([130], "float32"), axis=0)
    vm = program.build()
    for place in (0, 3, 15, 16, 40, 129):
        for special in (np.nan, np.inf, -np.inf):
            x = np.ones(130, "float32")
            x[place] = special
            np.testing.assert_array_equal(vm["row"](x), np.cumsum(x))
            np.testing.assert_array_equal(vm["product"](x), np.cumprod(x))
            both = np.stack([x, np.ones_like(x)], 1)
            np.testing.assert_array_equal(vm["column"](both), np.cumsum(both, 0))
    x = np.random.default_rng(0).standard_normal(5000).astype("float32")
    np.testing.assert_allclose(vm["row"](x), np.cumsum(x.astype("float64")), rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
def test_runs_from_computed_places(dtype: str) -> None:
    program = Program()
    program.op("take", "take", (["n", "m"], dtype), (["k"], "int64"), axis=0)
    program.op("middle", "take", (["n", 6, "m"], dtype), (["k", 2], "int32"), axis=1)
    program.op("last", "take", (["n", "m"], dtype), (["k"], "int64"), axis=1)
    program.op("nd", "gather_nd", (["n", 6, "m"], dtype), (["k", 2], "int64"))
    program.op("flip", "flip", (["n", "m"], dtype), axis=0)
    program.op("tile", "tile", (["n", "m"], dtype), repeats=[3, 1])
    program.op("repeat", "repeat", (["n", "m"], dtype), repeats=3, axis=0)
    program.op("roll", "roll", (["n", "m"], dtype), shift=[2], axis=[0])
    vm = program.build()
    rng = np.random.default_rng(0)
    for n, m, k in ((1, 1, 1), (3, 64, 5), (7, 67, 2), (5, 131, 0), (4, 0, 3), (9, 17, 23)):
        x, cube = _numbers((n, m), dtype), _numbers((n, 6, m), dtype)
        rows = rng.integers(-n, n, k)
        pairs = rng.integers(-6, 6, (k, 2)).astype("int32")
        where = np.stack([rng.integers(0, n, k), rng.integers(0, 6, k)], 1)
        wanted = {
            "take": (x[rows], (x, rows)), "middle": (cube[:, pairs], (cube, pairs)),
            "nd": (cube[where[:, 0], where[:, 1]], (cube, where)),
            "flip": (x[::-1], (x,)), "tile": (np.tile(x, (3, 1)), (x,)),
            "repeat": (np.repeat(x, 3, 0), (x,)), "roll": (np.roll(x, 2, 0), (x,)),
        }  # fmt: skip
        if m:
            columns = rng.integers(-m, m, k)
            wanted["last"] = (x[:, columns], (x, columns))
        for name, (want, arguments) in wanted.items():
            got = vm[name](*arguments)
            np.testing.assert_array_equal(got, want, f"{name} {(n, m, k)}")


def test_places_with_symbols() -> None:
    """Parts begin where only run time knows: each is a run of its own."""
    program = Program()
    program.function(
        "split",
        lambda: [tensor(["n", "m"])],
        lambda x: relax_op("split", [x], {"indices_or_sections": 2, "axis": 1}),
    )
    vm = program.build()
    for n, m in ((1, 2), (3, 130), (5, 0), (2, 34)):
        x = _numbers((n, m), "float32")
        for got, want in zip(vm["split"](x), np.split(x, 2, 1), strict=True):
            np.testing.assert_array_equal(got, want)
