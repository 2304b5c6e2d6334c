"""Reductions that begin with data instead of a constant."""

from collections.abc import Callable

import numpy as np
import pytest
from kernel_classes import classify
from targets import with_threads

from relax_mlir import tir
from relax_mlir.script import from_source

HEAD = "from relax_mlir.script import tir as T\n\n"
Reference = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Loops, iterators, what it begins with, what it adds, shapes of A, C and Out, and numpy's.
CASES: dict[str, tuple[str, str, str, str, tuple[str, str, str], Reference]] = {
    "rows": (
        "n, m", "SR", "Out[a] = C[a]", "Out[a] = Out[a] + A[a, b]",
        ("n, m", "n,", "n,"), lambda x, c: c + x.sum(1, dtype=x.dtype),
    ),
    "columns": (
        "m, n", "SR", "Out[a] = C[a] * C[a]", "Out[a] = Out[a] + A[b, a]",
        ("n, m", "m,", "m,"), lambda x, c: c * c + x.sum(0, dtype=x.dtype),
    ),
    "reduction_outside": (
        "n, m", "RS", "Out[b] = C[b]", "Out[b] = T.max(Out[b], A[a, b])",
        ("n, m", "m,", "m,"), lambda x, c: np.maximum(c, x.max(0, initial=-100)),
    ),
    "all": (
        "n, m", "RR", "Out[0] = C[0]", "Out[0] = Out[0] + A[a, b]",
        ("n, m", "1,", "1,"), lambda x, c: c + x.sum(dtype=x.dtype),
    ),
    "broadcast": (
        "n, m", "SR", "Out[a] = C[0]", "Out[a] = Out[a] + A[a, b]",
        ("n, m", "1,", "n,"), lambda x, c: c[0] + x.sum(1, dtype=x.dtype),
    ),
}  # fmt: skip


def _source(name: str, dtype: str) -> str:
    loops, kinds, init, body, (a, c, out), _ = CASES[name]
    return (
        HEAD
        + f"""@T.prim_func
def main(A_: T.handle, C_: T.handle, Out_: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(A_, ({a}), "{dtype}")
    C = T.match_buffer(C_, ({c}), "{dtype}")
    Out = T.match_buffer(Out_, ({out}), "{dtype}")
    for i, j in T.grid({loops}):
        with T.block("b"):
            a, b = T.axis.remap("{kinds}", [i, j])
            with T.init():
                {init}
            {body}
"""
    )


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    *_, (_, c, out), want = CASES[name]
    for dtype in ("float32", "int32", "float64"):
        main = tir.build(from_source(_source(name, dtype)), with_threads(2))["main"]
        for n, m in ((1, 1), (3, 5), (16, 2), (37, 131), (2, 1000), (64, 64), (5, 0)):
            sizes = {"n,": n, "m,": m, "1,": 1}
            x = (np.arange(n * m) % 7).reshape(n, m).astype(dtype)
            begin = (np.arange(sizes[c]) % 5).astype(dtype)
            got = np.full(sizes[out], 99, dtype)
            main(x, begin, got)
            np.testing.assert_array_equal(got, want(x, begin), f"{name} {dtype} {n} {m}")


@pytest.mark.parametrize("name", CASES)
def test_fast_path(name: str) -> None:
    module = from_source(_source(name, "float32")).mlir_module
    text = str(module)
    with module.context:
        infos = classify(module.body.operations[0])
    assert [(info.name, info.fast) for info in infos] == [("b_init", True), ("b", True)]
    assert str(module) == text


def test_products_that_begin_with_a_bias() -> None:
    source = (
        HEAD
        + """@T.prim_func
def main(A_: T.handle, B_: T.handle, C: T.Buffer((70,), "float32"), Out_: T.handle):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(A_, (n, k), "float32")
    B = T.match_buffer(B_, (k, 70), "float32")
    Out = T.match_buffer(Out_, (n, 70), "float32")
    for i, j, l in T.grid(n, 70, k):
        with T.block("b"):
            a, b, c = T.axis.remap("SSR", [i, j, l])
            with T.init():
                Out[a, b] = C[b]
            Out[a, b] = Out[a, b] + A[a, c] * B[c, b]
"""
    )
    main = tir.build(from_source(source))["main"]
    rng = np.random.default_rng(0)
    for n, k in ((1, 1), (33, 20), (64, 128), (5, 300)):
        x, y = (rng.standard_normal(s).astype("float32") for s in ((n, k), (k, 70)))
        bias, got = rng.standard_normal(70).astype("float32"), np.empty((n, 70), "float32")
        main(x, y, bias, got)
        np.testing.assert_allclose(got, x @ y + bias, rtol=1e-4, atol=1e-4)


def test_what_begins_with_its_neighbour_keeps_its_order() -> None:
    source = (
        HEAD
        + """@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), Out: T.Buffer((5,), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("b"):
            a, b = T.axis.remap("SR", [i, j])
            with T.init():
                Out[a + 1] = Out[a]
            Out[a + 1] = Out[a + 1] + A[a, b]
"""
    )
    x, got = np.arange(24, dtype="float32").reshape(4, 6), np.ones(5, "float32")
    tir.build(from_source(source))["main"](x, got)
    np.testing.assert_array_equal(got, 1 + np.concatenate([[0], np.cumsum(x.sum(1))]))
