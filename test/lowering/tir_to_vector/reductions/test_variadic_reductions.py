"""Variadic and strided reductions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_classes import classify
from targets import with_threads

from relax_mlir import compile as compile_
from relax_mlir import relax, te, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import single
from relax_mlir.lowering.tir_to_vector import parallel_region
from relax_mlir.runtime import num_threads, set_num_threads
from relax_mlir.script import from_source

SHAPES = [(1, 1), (3, 5), (7, 131), (64, 16), (5, 517), (131, 7), (0, 3), (1, 3000), (40, 1)]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    monkeypatch.setattr(parallel_region, "MIN_PARALLEL_WORK", 0)
    before = num_threads()
    yield set_num_threads
    set_num_threads(before)


def is_fast(given: Any) -> list[bool]:
    func = single(given)
    with func.context:
        return [info.fast for info in classify(func)]


def first_of_largest() -> Any:
    """Of equal values the first: associative, but not commutative."""
    return te.comm_reducer(
        lambda a, b: (
            tir.Select(a[1] >= b[1], a[0], b[0]),
            tir.Select(a[1] >= b[1], a[1], b[1]),
        ),
        lambda place, value: (te.const(-1, place), te.min_value(value)),
        name="first",
    )


def last_of_smallest() -> Any:
    return te.comm_reducer(
        lambda a, b: (tir.Select(b[1] <= a[1], b[0], a[0]), tir.min(a[1], b[1])),
        lambda place, value: (te.const(-1, place), te.max_value(value)),
        name="last",
    )


def moments() -> Any:
    return te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda one, two: (te.const(0, one), te.const(0, two)),
        name="moments",
    )


def turned() -> Any:
    """Return the product of complex numbers: each value is made of both."""
    return te.comm_reducer(
        lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]),
        lambda one, two: (te.const(1, one), te.const(0, two)),
        name="turned",
    )


def last_argmin(x: np.ndarray, axis: int) -> np.ndarray:
    return x.shape[axis] - 1 - np.flip(x, axis).argmin(axis)


REDUCERS = {
    "argmax": (lambda: te.argmax, lambda k, x: (k, x), lambda x, a: (x.argmax(a), x.max(a))),
    "argmin": (lambda: te.argmin, lambda k, x: (k, x), lambda x, a: (x.argmin(a), x.min(a))),
    "first": (first_of_largest, lambda k, x: (k, x), lambda x, a: (x.argmax(a), x.max(a))),
    "last": (last_of_smallest, lambda k, x: (k, x), lambda x, a: (last_argmin(x, a), x.min(a))),
    "moments": (moments, lambda _, x: (x, x * x), lambda x, a: (
        x.sum(a, dtype=x.dtype), (x * x).sum(a, dtype=x.dtype))),
}  # fmt: skip


def reduced(name: str, rows: Any, columns: Any, axis: int, dtype: str) -> IRModule:
    make, elements, _ = REDUCERS[name]
    x = te.placeholder((rows, columns), name="X", dtype=dtype)
    k = te.reduce_axis((0, (rows, columns)[axis]), name="k")
    reducer = make()
    outs = te.compute(
        ((rows, columns)[1 - axis],),
        lambda i: reducer(elements(k, x[i, k] if axis else x[k, i]), axis=k),
        name="Y",
    )
    return te.create_prim_func([x, *outs])


def run(module: IRModule, x: np.ndarray, outs: list[np.ndarray], use: Callable) -> None:
    """Fill outs, the same bits for any number of threads."""
    call = relax.VirtualMachine(compile_(module, target=with_threads(3)))["main"]
    seen = set()
    for count in (1, 2, 3):
        use(count)
        for out in outs:
            out.fill(77)
        call(x, *outs)
        seen.add(b"".join(out.tobytes() for out in outs))
    assert len(seen) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "float16"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REDUCERS)
def test_values_of_unknown_sizes(name: str, axis: int, dtype: str, threads: Callable) -> None:
    module = reduced(name, te.size_var("n"), te.size_var("m"), axis, dtype)
    assert is_fast(module) == [True]
    call = relax.VirtualMachine(compile_(module, target=with_threads(3)))["main"]
    for shape in SHAPES:
        if shape[axis] == 0 and name != "moments":
            continue
        # Few different numbers: many are equal, and sums are exact.
        low, high = (0, 2) if dtype in ("int8", "float16") else (-4, 5)
        x = np.random.default_rng(7).integers(low, high, shape).astype(dtype)
        want = REDUCERS[name][2](x, axis)
        outs = [np.empty(shape[1 - axis], dtype if name == "moments" else "int64"),
                np.empty(shape[1 - axis], dtype)]  # fmt: skip
        seen = set()
        for count in (1, 2, 3):
            threads(count)
            call(x, *outs)
            seen.add(b"".join(out.tobytes() for out in outs))
        assert len(seen) == 1
        for got, expected in zip(outs, want, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REDUCERS)
def test_values_of_known_sizes(name: str, axis: int, threads: Callable) -> None:
    for shape in [(19, 37), (70, 130)]:
        module = reduced(name, *shape, axis, "float32")
        assert is_fast(module) == [True]
        x = np.random.default_rng(1).integers(-4, 5, shape).astype("float32")
        outs = [np.empty(shape[1 - axis], "float32" if name == "moments" else "int64"),
                np.empty(shape[1 - axis], "float32")]  # fmt: skip
        run(module, x, outs, threads)
        for got, expected in zip(outs, REDUCERS[name][2](x, axis), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_nan_is_the_largest_and_the_smallest(name: str, threads: Callable) -> None:
    call = relax.VirtualMachine(
        compile_(reduced(name, te.size_var("n"), te.size_var("m"), 1, "float32"))
    )["main"]
    for at in (0, 5, 31, 32, 63, 64, 129):
        x = np.random.default_rng(at).standard_normal((3, 130)).astype("float32")
        x[0, at] = x[0, -1] = np.nan
        x[1] = np.inf
        x[2] = -np.inf
        places, values = np.empty(3, "int64"), np.empty(3, "float32")
        call(x, places, values)
        for got, want in zip((places, values), REDUCERS[name][2](x, 1), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", [0, 1])
def test_values_made_of_each_other(axis: int, threads: Callable) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    x, y = (te.placeholder((n, m), name=name) for name in "XY")
    k = te.reduce_axis((0, (n, m)[axis]), name="k")
    reducer = turned()
    at = (lambda i: (i, k)) if axis else (lambda i: (k, i))
    outs = te.compute(((n, m)[1 - axis],), lambda i: reducer((x[at(i)], y[at(i)]), axis=k))
    module = te.create_prim_func([x, y, *outs])
    # How two products are multiplied is not known, only how a product is by a number.
    assert is_fast(module) == [axis == 0]
    call = relax.VirtualMachine(compile_(module))["main"]
    for shape in [(1, 1), (9, 40), (40, 9), (33, 3), (3, 0), (0, 3)]:
        a, b = np.random.default_rng(0).standard_normal((2, *shape)).astype("float32")
        got = [np.empty(shape[1 - axis], "float32") for _ in "ab"]
        call(a, b, *got)
        want = np.prod(a.astype("complex128") + 1j * b, axis=axis)
        np.testing.assert_allclose(got[0] + 1j * got[1], want, rtol=1e-4)


WINDOWS = """
@T.prim_func
def main(x: T.handle, p: T.handle, q: T.handle, s: T.handle):
    n = T.int64()
    m = T.int64()
    X = T.match_buffer(x, (n, m, 6), "float32")
    P = T.match_buffer(p, (n,), "int32")
    Q = T.match_buffer(q, (n,), "float32")
    S = T.match_buffer(s, (n,), "float32")
    for i, j, k in T.grid(n, m, 3):
        with T.block("places"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                P[vi] = T.int32(-1)
                Q[vi] = T.float32(-1000)
                S[vi] = T.float32(0)
            place: T.int32 = T.cast(vj, "int32") * 3 + T.cast(vk, "int32")
            here: T.float32 = X[vi, vj, vk * 2 + 1]
            best: T.float32 = Q[vi]
            P[vi] = T.Select(here > best, place, P[vi])
            S[vi] = S[vi] + here
            Q[vi] = T.Select(here > best, here, best)
"""


def test_three_values_over_two_axes(threads: Callable) -> None:
    module = from_source(WINDOWS)
    assert is_fast(module) == [True]
    call = relax.VirtualMachine(compile_(module))["main"]
    for shape in [(1, 1), (5, 70), (33, 2), (2, 0), (0, 2)]:
        x = np.random.default_rng(3).integers(-3, 4, (*shape, 6)).astype("float32")
        flat = x[:, :, 1::2].reshape(shape[0], shape[1] * 3)
        p, q, s = (np.empty(shape[0], kind) for kind in ("int32", "float32", "float32"))
        call(x, p, q, s)
        np.testing.assert_array_equal(s, flat.sum(1))
        full = np.concatenate([np.full((shape[0], 1), -1000, "float32"), flat], 1)
        np.testing.assert_array_equal(p, full.argmax(1) - 1)
        np.testing.assert_array_equal(q, full.max(1))


def test_what_reads_its_own_result_stays_as_it_is() -> None:
    func = from_source(
        WINDOWS.replace("S[vi] = S[vi] + here", "S[vi] = S[vi] + T.cast(P[vi], 'float32')")
    )
    assert is_fast(func) == [False]
    call = relax.VirtualMachine(compile_(func))["main"]
    x = np.random.default_rng(3).integers(-3, 4, (2, 9, 6)).astype("float32")
    p, q, s = (np.empty(2, kind) for kind in ("int32", "float32", "float32"))
    call(x, p, q, s)
    flat = x[:, :, 1::2].reshape(2, 27)
    want = [sum(int(row[: i + 1].argmax()) for i in range(27)) for row in flat]
    np.testing.assert_array_equal(s, np.array(want, "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32"])
@pytest.mark.parametrize("step", [2, 3, 4, 7, -1, -2])
def test_elements_apart(step: int, dtype: str, threads: Callable) -> None:
    n, m = 6, 83
    wide = m * abs(step)
    first = 1 if step > 0 else wide
    x = te.placeholder((n, wide + 1), name="X", dtype=dtype)
    k, w = te.reduce_axis((0, m), "k"), te.reduce_axis((0, 3), "w")
    total = te.compute((n,), lambda i: te.sum(x[i, k * step + first], axis=k), "total")
    least = te.compute(
        (n, m - 2), lambda i, j: te.min(x[i, (j + w) * step + first], axis=w), "least"
    )
    module = te.create_prim_func([x, total, least])
    assert all(is_fast(module))
    data = np.random.default_rng(step + 9).integers(-9, 9, (n, wide + 1)).astype(dtype)
    outs = [np.empty(n, dtype), np.empty((n, m - 2), dtype)]
    run(module, data, outs, threads)
    seen = data[:, np.arange(m) * step + first]
    np.testing.assert_array_equal(outs[0], seen.sum(1, dtype=dtype))
    np.testing.assert_array_equal(
        outs[1], np.lib.stride_tricks.sliding_window_view(seen, 3, 1).min(-1)
    )


def test_elements_an_unknown_step_apart(threads: Callable) -> None:
    n, m, s = te.size_var("n"), te.size_var("m"), te.size_var("s")
    x = te.placeholder((n, m, s), name="X")
    k = te.reduce_axis((0, m), "k")
    y = te.compute((n,), lambda i: te.max(x[i, k, 0], axis=k), "Y")
    module = te.create_prim_func([x, y])
    assert is_fast(module) == [True]
    call = relax.VirtualMachine(compile_(module))["main"]
    for shape in [(1, 1, 1), (3, 70, 2), (5, 33, 9), (2, 64, 1), (3, 0, 2), (0, 4, 4)]:
        data = np.random.default_rng(0).standard_normal(shape).astype("float32")
        out = np.empty(shape[0], "float32")
        call(data, out)
        np.testing.assert_array_equal(out, data[:, :, 0].max(1, initial=-np.inf))
