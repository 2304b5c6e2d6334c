"""Kernels that sort, take the first few and search: numpy's order, and the same bits on threads."""

import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from programs import Program, tensor
from samples import FLOATS, INTEGERS
from targets import with_threads

from relax_mlir.dialects.relax import build as relax_op
from relax_mlir.lowering.tir_to_vector import parallel_region

pytestmark = pytest.mark.unoptimized

DTYPES = (*FLOATS, *INTEGERS, "bool")
# About the lengths at which another way of sorting begins, and those of vectors.
LENGTHS = (0, 1, 2, 15, 17, 96, 97, 131, 1021)


def _ties(shape: Any, dtype: str, seed: int = 0) -> np.ndarray:
    """Return few different numbers, among floats both zeros, infinities and NaN of both signs."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        few = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-7, -1.5, 2.25, -6e4], dtype)
        x = few[rng.integers(0, len(few), shape)]
        return np.where(rng.random(shape) < 0.5, x, rng.standard_normal(shape).astype(dtype))
    limits = np.iinfo(dtype)
    wide = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, wide, (wide % 5).astype(dtype))


def _order(x: np.ndarray, axis: int, down: bool) -> np.ndarray:
    if not down:
        return np.argsort(x, axis=axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(turned, axis)


def _same(got: Any, wanted: np.ndarray, what: object) -> None:
    """Assert the same bytes: equal zeros keep their signs, and NaN theirs."""
    got = np.asarray(got)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), what
    assert got.tobytes() == np.ascontiguousarray(wanted).tobytes(), what


@pytest.mark.parametrize("known", [False, True])
def test_every_dtype_bit_by_bit(known: bool) -> None:
    program = Program()
    lengths = (131,) if known else LENGTHS
    # Of known lengths each dtype is sorted one way.
    ways = [(i % 2 == 0,) if known else (False, True) for i in range(len(DTYPES))]
    cases = [(dtype, down) for dtype, each in zip(DTYPES, ways, strict=True) for down in each]
    for dtype, down in cases:
        for length in lengths if known else ("m",):
            for op, more in (("sort", {}), ("argsort", {"dtype": "int64" if down else "int16"})):
                name = f"{op}{dtype}{down}{length}"
                types = ([3 if known else "n", length], dtype)
                program.op(name, op, types, axis=-1, descending=down, **more)
    vm = program.build()
    for dtype, down in cases:
        for length in lengths:
            x = _ties((3, length), dtype, length)
            order, size = _order(x, -1, down), length if known else "m"
            wanted = np.take_along_axis(x, order, -1)
            _same(vm[f"sort{dtype}{down}{size}"](x), wanted, (dtype, down, length))
            index = "int64" if down else "int16"
            got = vm[f"argsort{dtype}{down}{size}"](x)
            _same(got, order.astype(index), (dtype, down, length))


def test_other_axes_and_bfloat16() -> None:
    program = Program()
    for axis in range(3):
        program.op(f"f{axis}", "sort", (["a", "b", "c"], "float32"), axis=axis)
        program.op(f"i{axis}", "argsort", ([5, 101, 3], "int16"), axis=axis, descending=True)

    def half(x: Any) -> Any:
        narrow = relax_op("astype", [x], {"dtype": "bfloat16"})
        return relax_op("astype", [relax_op("sort", [narrow], {})], {"dtype": "float32"})

    program.function("half", lambda: [tensor(["n", "m"])], half)
    vm = program.build()
    for axis in range(3):
        for shape in ((1, 1, 1), (3, 98, 2), (130, 1, 3), (2, 5, 97), (0, 3, 2)):
            x = _ties(shape, "float32")
            _same(vm[f"f{axis}"](x), np.sort(x, axis, kind="stable"), (axis, shape))
        x = _ties((5, 101, 3), "int16")
        _same(vm[f"i{axis}"](x), _order(x, axis, True).astype("int32"), axis)
    for length in (3, 130):
        # Numbers that bfloat16 has.
        x = _ties((2, length), "float32").view("uint32") & np.uint32(0xFFFF0000)
        x = x.view("float32")
        np.testing.assert_array_equal(vm["half"](x), np.sort(x, -1, kind="stable"))


def test_beside_an_axis_of_constant_zero() -> None:
    program = Program()
    program.op("sort", "sort", (["n", 0], "float32"), axis=0)
    program.op("argsort", "argsort", (["n", 0], "float32"), axis=0, dtype="int32")
    vm = program.build()
    x = np.zeros((3, 0), "float32")
    _same(vm["sort"](x), x, "sort")
    _same(vm["argsort"](x), x.astype("int32"), "argsort")


@pytest.mark.parametrize("largest", [True, False])
def test_the_first_few(largest: bool) -> None:
    program = Program()
    for dtype in ("float32", "uint8"):
        for k in (5, 64, 65):
            more = {"k": k, "largest": largest, "dtype": "int64"}
            program.op(f"{dtype}{k}n", "topk", (["m", "n"], dtype), axis=-1, **more)
            program.op(f"{dtype}{k}k", "topk", ([201, "n"], dtype), axis=0, **more)
    vm = program.build()
    for dtype in ("float32", "uint8"):
        for k in (5, 64, 65):
            for length in (65, 97, 128, 129, 193, 3001):
                x = _ties((2, length), dtype, k)
                for data in (x, np.sort(x, -1), np.sort(x, -1)[:, ::-1].copy()):
                    order = _order(data, -1, largest)[:, :k]
                    values, places = vm[f"{dtype}{k}n"](data)
                    _same(places, order, (dtype, k, length))
                    _same(values, np.take_along_axis(data, order, -1), (dtype, k, length))
            x = _ties((201, 3), dtype, k)
            _same(vm[f"{dtype}{k}k"](x)[1], _order(x, 0, largest)[:k], (dtype, k))


@pytest.mark.parametrize("right", [True, False])
def test_search(right: bool) -> None:
    program = Program()
    dtypes = ("float32", "float16", "int8", "uint64", "bool")
    for dtype in dtypes:
        program.op(f"{dtype}n", "searchsorted", (["k"], dtype), (["n", "m"], dtype), right=right)
        for k in (0, 1, 37):
            program.op(f"{dtype}{k}", "bucketize", ([23], dtype), ([k], dtype), right=right)
    vm = program.build()
    side = "right" if right else "left"
    for dtype in dtypes:
        for k in (0, 1, 2, 3, 4, 37, 64, 1000):
            edges = np.sort(_ties((k,), dtype, 1))
            for shape in ((0, 3), (1, 1), (4, 4), (17, 3)):
                x = _ties(shape, dtype)
                wanted = np.searchsorted(edges, x, side)
                _same(vm[f"{dtype}n"](edges, x), wanted, (dtype, k, shape))
            if f"{dtype}{k}" in (f"{dtype}0", f"{dtype}1", f"{dtype}37"):
                x = _ties((23,), dtype)
                _same(vm[f"{dtype}{k}"](x, edges), np.searchsorted(edges, x, side), (dtype, k))


@pytest.fixture(scope="module")
def random_sorts() -> Any:
    program = Program()
    for dtype in ("float32", "int64"):
        program.op(f"sort{dtype}", "sort", (["n"], dtype))
        program.op(f"down{dtype}", "argsort", (["n"], dtype), descending=True, dtype="int64")
    return program.build()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_rows(random_sorts: Any, data: Any) -> None:
    dtype = data.draw(st.sampled_from(["float32", "int64"]))
    x = data.draw(hnp.arrays(dtype, st.integers(0, 200), fill=st.nothing()))
    _same(random_sorts[f"sort{dtype}"](x), np.sort(x, kind="stable"), x)
    _same(random_sorts[f"down{dtype}"](x), _order(x, 0, True), x)


def test_the_same_bits_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)

    def made(threads: int) -> Any:
        program = Program()
        program.op("sort", "sort", (["n", "m"], "float32"), axis=0)
        program.op("topk", "topk", ([133, 300], "float32"), k=7, ret_type="indices")
        program.op("search", "searchsorted", (["k"], "float32"), (["n", "m"], "float32"))
        program.op("rows", "cumsum", (["n", "m"], "float32"), axis=1)
        program.op("columns", "cumprod", (["n", "m"], "float32"), axis=0)
        return program.build(target=with_threads(threads))

    serial, threaded = made(1), made(3)
    for shape in ((0, 3), (1, 1), (2, 5), (133, 300)):
        x = _ties(shape, "float32")
        x = np.where(np.isfinite(x), x, 1).astype("float32")
        for name in ("sort", "rows", "columns"):
            _same(threaded[name](x), np.asarray(serial[name](x)), (name, shape))
        edges = np.sort(x[:, 0])
        _same(threaded["search"](edges, x), np.asarray(serial["search"](edges, x)), shape)
    _same(threaded["topk"](x), np.asarray(serial["topk"](x)), "topk")


def test_nothing_is_said_of_them(caplog: pytest.LogCaptureFixture) -> None:
    program = Program()
    program.op("sort", "sort", (["n", "m"], "float32"))
    program.op("topk", "topk", ([9, 300], "float32"), k=7)
    program.op("search", "searchsorted", (["k"], "float32"), (["n", "m"], "float32"))
    program.op("scan", "cumsum", (["n", "m"], "float32"), axis=0)
    program.op("take", "take", (["n", "m"], "float32"), (["k"], "int64"), axis=0)
    with caplog.at_level(logging.WARNING, "relax_mlir.kernels"):
        program.build()
    assert not caplog.messages


@pytest.mark.parametrize("largest", [False, True])
def test_a_few_hundred_bit_by_bit(largest: bool) -> None:
    """So many are gathered and thinned out; of equal ones the earlier stay, in every dtype."""
    program = Program()
    # Around what is inserted one by one, a block, and several lists full.
    sizes = ((41, 700), (64, 1024), (64, 1100), (65, 1100), (100, 1601), (300, 5000))
    dtypes = ("float32", "float64", "float16", "int8", "bool")
    for dtype in dtypes:
        for k, length in sizes if dtype == "float32" else sizes[2:4]:
            more = {"k": k, "largest": largest, "dtype": "int64"}
            program.op(f"{dtype}{k}_{length}", "topk", ([3, length], dtype), axis=1, **more)
    program.op("any", "topk", (["n", "m"], "float32"), axis=1, k=64, largest=largest, dtype="int64")
    vm = program.build()

    def check(name: str, x: np.ndarray, k: int) -> None:
        order = _order(x, 1, largest)[:, :k]
        values, places = vm[name](x)
        _same(values, np.take_along_axis(x, order, 1), (name, x.shape))
        _same(places, order.astype("int64"), (name, x.shape))

    for dtype in dtypes:
        for k, length in sizes if dtype == "float32" else sizes[2:4]:
            rising = np.arange(length) % 200
            rows = [_ties((length,), dtype), rising.astype(dtype), rising[::-1].astype(dtype)]
            check(f"{dtype}{k}_{length}", np.stack(rows), k)
    for length in (64, 96, 97, 130, 1000):
        check("any", _ties((2, length), "float32", length), 64)
        check("any", np.full((1, length), np.nan, "float32"), 64)
        check("any", -np.arange(length, dtype="float32")[None], 64)
