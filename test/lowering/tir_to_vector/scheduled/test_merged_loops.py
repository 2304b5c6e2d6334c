"""Split, fused and reordered loops compute what they did, in the class that they had."""

import numpy as np
import pytest
from kernel_classes import classify

from relax_mlir import compile as compile_
from relax_mlir import te, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import single
from relax_mlir.script import tir as T


def chain(rows, columns) -> IRModule:
    x = te.placeholder((rows, columns), name="X")
    y = te.compute((rows, columns), lambda i, j: te.exp(x[i, j]) + i, name="Y")
    return te.create_prim_func([x, y])


def product(rows, inner, columns) -> tir.PrimFunc:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    k = te.reduce_axis((0, inner), "k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="Y")
    return te.create_prim_func([a, b, c])


def kinds(given: IRModule | tir.PrimFunc) -> list[tuple[str, bool]]:
    func = single(given)
    with func.context:
        return [(info.kind, info.fast) for info in classify(func)]


def split_unevenly(sch, loops):
    for loop, factor in zip(loops, (7, 32, 3), strict=False):
        sch.split(loop, [None, factor])


def tiled(sch, loops):
    outer, inner = zip(*(sch.split(loop, [None, 16]) for loop in loops), strict=True)
    sch.reorder(*outer, *inner)


def split_twice(sch, loops):
    _, second = sch.split(loops[0], [None, 12])
    sch.split(second, [None, 4])
    sch.split(loops[-1], [None, 2, 5])


def fused(sch, loops):
    sch.split(sch.fuse(*loops[:2]), [None, 3])


def fused_and_tiled(sch, loops):
    sch.parallel(sch.split(sch.fuse(*loops[:2]), [None, 64])[0])


MOVES = [split_unevenly, tiled, split_twice, fused, fused_and_tiled]
n, m, k = te.var("n"), te.var("m"), te.var("k")


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
@pytest.mark.parametrize("symbolic", [False, True])
def test_classes_and_numbers(move, symbolic: bool) -> None:
    rng = np.random.default_rng(0)
    cases = [
        (chain(n, 45) if symbolic else chain(31, 45), [(31, 45)], "elementwise"),
        (product(n, k, 41) if symbolic else product(37, 23, 41), [(37, 23), (23, 41)], "reduction"),
    ]
    for func, shapes, kind in cases:
        sch = tir.Schedule(func)
        move(sch, sch.get_loops(sch.get_block("Y")))
        ((found, fast),) = kinds(sch.mod)
        # Only what is fused and of unknown length stays as it is: no digits are known of it.
        assert fast or (symbolic and "fused" in move.__name__), found
        run = compile_(sch.mod)["main"]
        arrays = [rng.normal(size=shape).astype("float32") for shape in shapes]
        if kind == "elementwise":
            wanted = np.exp(arrays[0]) + np.arange(31, dtype="float32")[:, None]
        else:
            wanted = arrays[0] @ arrays[1]
        out = np.full(wanted.shape, np.nan, "float32")
        run(*arrays, out)
        np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=2e-5)


@T.prim_func
def partial(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), m: T.int64):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            v = T.axis.spatial(64, i * 8 + j)
            T.where(i * 8 + j < m)
            B[v] = A[v] + T.float32(1)


@T.prim_func
def by_rows(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            T.where(i * 8 + j < 42)
            B[v, w] = A[v, w] + T.float32(1)


@T.prim_func
def counted(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("B"):
            v = T.axis.spatial(12, i * 4 + j)
            B[v] = A[v] + T.Cast("float32", i * 100 + j)


@T.prim_func
def twice(A: T.Buffer((12,), "float32"), B: T.Buffer((1,), "float32")):
    for i, j, _r in T.grid(3, 4, 2):
        with T.block("B"):
            v = T.axis.reduce(12, i * 4 + j)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[v]


@T.prim_func
def overlapping(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            v = T.axis.spatial(20, i * 4 + j)
            B[v] = A[v] + T.float32(1)


def test_what_is_no_split_stays() -> None:
    """Predicates that are no bounds, counters inside of the block, points that come twice."""
    x = np.arange(64, dtype="float32")
    run = compile_(partial)["partial"]
    for count in (-3, 0, 1, 42, 64, 90):
        out = np.zeros(64, "float32")
        run(x, out, count)
        np.testing.assert_array_equal(out, np.where(np.arange(64) < count, x + 1, 0))
    out = np.zeros((8, 8), "float32")
    compile_(by_rows)["by_rows"](x.reshape(8, 8), out)
    np.testing.assert_array_equal(out.ravel(), np.where(x < 42, x + 1, 0))
    out = np.zeros(12, "float32")
    compile_(counted)["counted"](x[:12], out)
    np.testing.assert_array_equal(out, x[:12] + [i * 100 + j for i in range(3) for j in range(4)])
    total = np.zeros(1, "float32")
    compile_(twice)["twice"](x[:12], total)
    assert not kinds(twice)[0][1]
    out = np.zeros(20, "float32")
    compile_(overlapping)["overlapping"](x[:20], out)
    np.testing.assert_array_equal(out, x[:20] + 1)
