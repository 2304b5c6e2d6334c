"""Matmul against numpy: every combination of ranks, broadcast batches, sizes around the tiles."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Program, tensor
from samples import FLOATS, INTEGERS, check, sample

from relax_mlir.dialects.relax import InferError
from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.errors import ShapeMismatchError

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


def _close(got: np.ndarray, wanted: np.ndarray, dtype: str, what: Any) -> None:
    check(got, wanted.astype(dtype), ulps=32, scale=64, what=what)


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "uint8"])
def test_linear(dtype: str) -> None:
    shapes: list[list[Any]] = [
        [["n", "k"], ["m", "k"], ["m"]], [[2, "n", "k"], ["m", "k"], ["m"]],
        [["k"], ["m", "k"], ["m"]], [["n", "k"], ["m", "k"], []], [["n", "k"], ["k"]],
        [["n", "k"], ["m", "k"]], [["k"], ["k"]], [[5, 17], [33, 17], [33]],
        [["n", "k"], ["m", "k"], ["n", 1]],
        [["k"], ["k"], ["n"]],
    ]  # fmt: skip
    # Every dtype over all ranks of one, and over matrices with a bias and without.
    shapes = shapes if dtype == "float32" else [shapes[0], shapes[4]]
    program = Program()
    for index, sides in enumerate(shapes):
        program.op(f"f{index}", "linear", *[(side, dtype) for side in sides])
    program.op("unknown", "linear", (None, ""), (None, ""), (None, ""))
    vm = program.build()
    for index, sides in enumerate(shapes):
        for sizes in SIZES:
            named = dict(zip("nmk", sizes, strict=True))
            values = [
                sample([named.get(dim, dim) for dim in side], dtype, seed)
                for seed, side in enumerate(sides)
            ]
            wide = [x.astype("float64") if dtype in FLOATS else x for x in values]
            wanted = np.asarray(wide[0] @ wide[1].T)
            wanted = wanted + wide[2] if len(wide) > 2 else wanted
            _close(vm[f"f{index}"](*values), wanted, dtype, (sides, sizes))
            if len(values) > 2:
                _close(vm["unknown"](*values), wanted, dtype, (sides, sizes))


EINSUMS: tuple[tuple[str, list[list[Any]]], ...] = (
    ("ij,jk->ik", [["n", "k"], ["k", "m"]]),
    ("ij, kj", [["n", "k"], ["m", "k"]]),
    ("bhqd,bhkd->bhqk", [[2, 3, "n", 8], [2, 3, "m", 8]]),
    ("ii", [["n", "n"]]),
    ("ii->i", [["n", "n"]]),
    ("ij->ji", [["n", "m"]]),
    ("ij->", [["n", "m"]]),
    ("i,j->ij", [["n"], ["m"]]),
    ("i,i", [["n"], ["n"]]),
    ("...ij,...jk->...ik", [[2, 1, "n", "k"], [3, "k", "m"]]),
    ("...ij,...jk", [[2, "n", "k"], ["k", "m"]]),
    ("i...->...", [["n", "m", 3]]),
    ("...,...", [["n", 1], [5]]),
    ("ij,jk,kl->il", [["n", "k"], ["k", "m"], ["m", 5]]),
    ("ij,jk,kl,lm->im", [["n", "k"], ["k", "m"], ["m", 5], [5, 3]]),
    ("ij,ij,ij->j", [["n", "m"], ["n", "m"], ["n", "m"]]),
    ("i,j,...->...ij", [[2], [3], ["n", "m"]]),
    ("ab,cd->", [["n", "k"], ["m", 2]]),
    ("ijk,jil->kl", [["n", "m", 3], ["m", "n", 4]]),
    (",i->i", [[], ["n"]]),
    # A 1 stands for any number.
    ("ij,ij->i", [[1, "k"], ["n", "k"]]),
    ("ij,jk,ik->k", [["n", 1], ["k", 5], [1, 1]]),
    # What is written along is in both operands, and adjacent in one of them.
    ("hij,jh->ih", [[2, "n", "k"], ["k", 2]]),
    ("bhij,bjhd->bihd", [["n", 2, 3, "k"], ["n", "k", 2, 1]]),
)


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_einsum(dtype: str) -> None:
    program = Program()
    chosen = EINSUMS if dtype == "float32" else EINSUMS[1:18:8]
    for index, (text, sides) in enumerate(chosen):
        for name, shapes in (("f", sides), ("g", [None] * len(sides))):
            program.function(
                f"{name}{index}",
                lambda shapes=shapes: [tensor(shape, dtype) for shape in shapes],
                lambda *values, text=text: relax_op("einsum", [list(values)], {"subscripts": text}),
            )
    vm = program.build()
    for index, (text, sides) in enumerate(chosen):
        for sizes in SIZES[:-1]:
            named = dict(zip("nmk", sizes, strict=True))
            values = [
                sample([named.get(dim, dim) for dim in side], dtype, seed)
                for seed, side in enumerate(sides)
            ]
            wide = [x.astype("float64") if dtype in FLOATS else x for x in values]
            numpy_text = {"...,...": "...,...->..."}.get(text, text)
            wanted = np.asarray(np.einsum(numpy_text, *wide))
            for name in "fg":
                got = vm[f"{name}{index}"](*values)
                scale = float(np.abs(wanted).max(initial=1)) + 300
                check(got, wanted.astype(dtype), ulps=32, scale=scale, what=(name, text, sizes))


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk", [[2, 3]], "are for 2 operands, got 1"),
        ("ij", [[2, 3, 4]], "an operand of 'ij' has 3 dimensions"),
        ("ij,jk", [[2, 3], [4, 5]], "axes of 'j' have 3 and 4 elements"),
        ("ij->ik", [[2, 3]], "the result of 'ij->ik' has 'k', which no operand has"),
        ("ij->ii", [[2, 3]], "has 'i' more than once"),
        ("i1", [[2, 3]], "have '1', which is no letter"),
        ("i...->i", [[2, 3]], "needs the ellipsis of its operands"),
        ("...i....->i", [[2, 3]], "which is no letter"),
    ],
)
def test_bad_subscripts(text: str, shapes: Any, message: str) -> None:
    program = Program()
    with pytest.raises(InferError, match=re.escape(message)):
        program.function(
            "f",
            lambda: [tensor(shape, "float32") for shape in shapes],
            lambda *values: relax_op("einsum", [list(values)], {"subscripts": text}),
        )


def test_outer() -> None:
    program = Program()
    program.op("f", "outer", (["n"], "float32"), (["m"], "float32"))
    program.op("g", "outer", (None, ""), (None, ""))
    vm = program.build()
    for n, m in [(0, 3), (1, 1), (17, 31)]:
        a, b = sample(n, "float32"), sample(m, "float32", 1)
        check(vm["f"](a, b), np.outer(a, b))
        check(vm["g"](a, b), np.outer(a, b))


def test_einsum_of_sizes_that_differ_at_run_time() -> None:
    program = Program()
    program.function(
        "f",
        lambda: [tensor(["n", "k"]), tensor(["j", "m"])],
        lambda *values: relax_op("einsum", [list(values)], {"subscripts": "ij,jk->ik"}),
    )
    vm = program.build()
    a, b = sample((2, 3), "float32"), sample((3, 4), "float32", 1)
    check(vm["f"](a, b), a @ b, scale=9)
    with pytest.raises(ShapeMismatchError, match="axes of 'j' have 3 and 4 elements"):
        vm["f"](a, sample((4, 2), "float32"))


MIXED = (
    ("float16", "float32", "float32"), ("float32", "float64", "float64"),
    ("int8", "float32", "float32"), ("float32", "float16", "float16"), ("int8", "uint8", "int32"),
)  # fmt: skip


def test_operands_of_different_dtypes() -> None:
    """Where `out_dtype` says what products are, as in TVM: by kernels and by the library."""
    program = Program()
    image, kernel = (1, 4, 5, 9), (6, 4, 1, 1)
    for left, right, out in MIXED:
        name = f"{left}_{right}"
        wanted = {"out_dtype": out}
        program.op(f"matmul_{name}", "matmul", (["n", 20], left), ([20, 7], right), **wanted)
        program.op(f"library_{name}", "matmul", (None, left), (None, right), **wanted)
        program.op(f"conv_{name}", "conv2d", (image, left), (kernel, right), **wanted)
        program.op(f"unknown_{name}", "conv2d", (None, left), (None, right), **wanted)
    vm = program.build()
    rng = np.random.default_rng(0)
    for left, right, out in MIXED:
        # Small integers, so that every dtype has the sums.
        a, x = (rng.integers(0, 4, shape).astype(left) for shape in ((13, 20), image))
        b, w = (rng.integers(0, 4, shape).astype(right) for shape in ((20, 7), kernel))
        product = a.astype("float64") @ b.astype("float64")
        channels = np.einsum("nchw,oc->nohw", x.astype("float64"), w[..., 0, 0].astype("float64"))
        for which, args, result in (
            ("matmul", (a, b), product), ("library", (a, b), product),
            ("conv", (x, w), channels), ("unknown", (x, w), channels),
        ):  # fmt: skip
            got = np.asarray(vm[f"{which}_{left}_{right}"](*args))
            assert got.dtype == out
            np.testing.assert_array_equal(got.astype("float64"), result, err_msg=which)
    with pytest.raises(InferError, match="operand dtypes must match"):
        Program().op("f", "matmul", ((2, 2), "float16"), ((2, 2), "float32"))
