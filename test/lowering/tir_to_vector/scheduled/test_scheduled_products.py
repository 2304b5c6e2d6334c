"""Products of matrices in the order of TVM's tutorials: blocks have their class and loops again."""

import numpy as np
import pytest
from kernel_classes import classify
from kernels import close, values

from relax_mlir import compile as compile_
from relax_mlir import te, tir
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import single
from relax_mlir.script import tir as T

n, m, k = te.var("n"), te.var("m"), te.var("k")


def product(rows, inner, columns) -> IRModule:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    r = te.reduce_axis((0, inner), "r")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def panels(rows: int, inner: int, columns: int) -> IRModule:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    r = te.reduce_axis((0, inner), "r")
    p = te.compute((columns // 32, inner, 32), lambda j, r, c: b[r, j * 32 + c], name="P")
    c = te.compute(
        (rows, columns), lambda i, j: te.sum(a[i, r] * p[j // 32, r, j % 32], axis=r), name="C"
    )
    return te.create_prim_func([a, b, c])


def split(sch: tir.Schedule, inner: str) -> tuple:
    """Split the loops of the product, and put those of a tile in an order."""
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    (i0, i1), (j0, j1), (r0, r1) = (
        sch.split(x, [None, size]) for x, size in zip(loops, (8, 16, 4), strict=True)
    )
    named = {"i": i1, "j": j1, "r": r1}
    sch.reorder(i0, j0, r0, *(named[name] for name in inner))
    return block, i0, j0, i1, j1, r0, r1


def blocked(sch):
    block, _, _, _, _, r0, _ = split(sch, "rij")
    sch.decompose_reduction(block, r0)


def vectorized(sch):
    block, _, _, _, j1, r0, _ = split(sch, "rij")
    sch.vectorize(j1)
    sch.decompose_reduction(block, r0)


def permuted(sch):
    block, i0, _, _, j1, r0, r1 = split(sch, "irj")
    sch.vectorize(j1)
    sch.unroll(r1)
    sch.parallel(i0)
    sch.decompose_reduction(block, r0)


def kinds_only(sch):
    *_, j1, _, r1 = split(sch, "irj")
    sch.vectorize(j1)
    sch.unroll(r1)


def cached(sch):
    block = sch.get_block("C")
    i, j, r = sch.get_loops(block)
    (i0, i1), (j0, j1), (r0, r1) = (
        sch.split(x, [None, size]) for x, size in ((i, 8), (j, 16), (r, 4))
    )
    sch.reorder(i0, j0, i1, j1, r0, r1)
    sch.reverse_compute_at(sch.cache_write(block, 0, "global"), j0)
    sch.reorder(r0, i1, r1, j1)
    sch.unroll(r1)
    sch.vectorize(j1)
    sch.parallel(i0)
    sch.decompose_reduction(block, r0)


def kinds(given: IRModule | tir.PrimFunc) -> list[tuple[str, str, bool]]:
    func = single(given)
    with func.context:
        found = classify(func)
    return [(info.name, info.kind, info.fast) for info in found]


def check(func: IRModule, rows: int, inner: int, columns: int) -> None:
    a, b = values((rows, inner), "float32"), values((inner, columns), "float32")
    out = np.full((rows, columns), np.nan, "float32")
    compile_(func)["main"](a, b, out)
    close(out, a @ b)


STEPS = [blocked, vectorized, permuted, kinds_only, cached]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_steps_are_one_product(step) -> None:
    sch = tir.Schedule(product(37, 30, 53))
    step(sch)
    found = kinds(sch.mod)
    assert found[0][1:] == ("contraction", True), found
    # The init is part of the sum again.
    assert [name for name, *_ in found[1:]] == (["C_global"] if step is cached else [])
    check(sch.mod, 37, 30, 53)


@pytest.mark.parametrize("step", [vectorized, kinds_only], ids=lambda step: step.__name__)
def test_unknown_sizes(step) -> None:
    sch = tir.Schedule(product(n, k, m))
    step(sch)
    assert kinds(sch.mod)[0][1:] == ("contraction", True)
    run = compile_(sch.mod)["main"]
    for sizes in ((1, 1, 1), (37, 30, 53), (8, 0, 16), (3, 5, 0), (64, 16, 33)):
        a, b = values((sizes[0], sizes[1]), "float32"), values((sizes[1], sizes[2]), "float32")
        out = np.full((sizes[0], sizes[2]), np.nan, "float32")
        run(a, b, out)
        close(out, a @ b)


@pytest.mark.parametrize("step", [permuted, cached], ids=lambda step: step.__name__)
def test_packed_panels(step) -> None:
    sch = tir.Schedule(panels(24, 20, 96))
    step(sch)
    x, _, z = sch.get_loops(sch.get_block("P"))
    sch.vectorize(z)
    sch.parallel(x)
    assert ("C_update", "contraction", True) in kinds(sch.mod)
    check(sch.mod, 24, 20, 96)


@T.prim_func
def running(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
            C: T.Buffer((9, 8), "float32")):  # fmt: skip
    for i in T.serial(8):
        for j in T.serial(8):
            with T.block("init"):
                v, w = T.axis.remap("SS", [i, j])
                C[v + 1, w] = C[v, w]
        for j, r in T.grid(8, 8):
            with T.block("update"):
                v, w, x = T.axis.remap("SSR", [i, j, r])
                C[v + 1, w] = C[v + 1, w] + A[v, x] * B[x, w]


@T.prim_func
def twice(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
          C: T.Buffer((8, 8), "float32")):  # fmt: skip
    for s in T.serial(2):
        for i, j in T.grid(8, 8):
            with T.block("init"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = T.float32(1)
        for i, j, r in T.grid(8, 8, 4):
            with T.block("update"):
                v, w = T.axis.remap("SS", [i, j])
                x = T.axis.reduce(8, s * 4 + r)
                C[v, w] = C[v, w] + A[v, x] * B[x, w]


def test_steps_that_meet_stay_in_order() -> None:
    """A step that goes on from the one before, and one that begins anew what another summed."""
    a, b = values((8, 8), "float32"), values((8, 8), "float32")
    c = np.zeros((9, 8), "float32")
    compile_(running)["running"](a, b, c)
    close(c[1:], np.cumsum(a @ b, axis=0))
    c = np.zeros((8, 8), "float32")
    compile_(twice)["twice"](a, b, c)
    close(c, 1 + a[:, 4:] @ b[4:])
