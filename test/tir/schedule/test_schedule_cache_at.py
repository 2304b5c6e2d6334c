"""`read_at`, `write_at`, `cache_index`, `reorder_block_iter_var`, `fuse_reduction_epilogue`."""

from collections.abc import Callable

import numpy as np
import pytest
from scheduled_programs import (
    CHAIN,
    DYNAMIC_MATMUL,
    ELEMENTWISE,
    HEAD,
    MATMUL,
    MATMUL_RELU,
    Program,
)
from schedules import refused, runs

from relax_mlir.script import from_source
from relax_mlir.tir import Schedule

RESIZE = Program(
    "resize",
    """def main(A: T.Buffer((8, 9), "float32"), B: T.Buffer((7, 8), "float32")):
    for i, j in T.grid(7, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2 + vj // 3, vj] + A[vi // 2 + vj // 3, vj // 2]
""",
    [(8, 9), (7, 8)],
    lambda a: np.array(
        [[a[i // 2 + j // 3, j] + a[i // 2 + j // 3, j // 2] for j in range(8)] for i in range(7)]
    ),
)


def reduced(name: str, begin: str, step: str, end: str, want: Callable[..., np.ndarray]) -> Program:
    text = f"""def main(a: T.handle, x: T.handle, d: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    X = T.match_buffer(x, (n,), "float32")
    D = T.match_buffer(d, (n, 2), "float32")
    C = T.alloc_buffer((2, n), "float32")
    for i, j, k in T.grid(2, n, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32({begin})
            C[vi, vj] = {step.format(one="C[vi, vj]", two="A[vj, vi * 4 + vk]")}
    for i, j in T.grid(n, 2):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = {end.format(one="C[vj, vi]", two="(X[vi] * 2.0)")}
"""
    return Program(name, text, [(5, 8), (5,), (5, 2)], want)


def halves(a: np.ndarray) -> np.ndarray:
    return a.reshape(5, 2, 4)


BIAS = reduced("bias", "0", "{one} + {two}", "{one} + {two}",
               lambda a, x: halves(a).sum(2) + 2 * x[:, None])  # fmt: skip
FUSED = [
    BIAS,
    reduced("bias_first", "3", "{two} + {one}", "{two} + {one}",
            lambda a, x: halves(a).sum(2) + 2 * x[:, None] + 3),
    reduced("clip", "-1000", "T.max({one}, {two})", "T.max({two}, {one})",
            lambda a, x: np.maximum(halves(a).max(2), 2 * x[:, None])),
    reduced("scaled", "1", "{one} * {two}", "{one} * {two}",
            lambda a, x: halves(a).prod(2) * 2 * x[:, None]),
]  # fmt: skip


@pytest.mark.parametrize("program", FUSED, ids=lambda program: program.name)
def test_fuse_reduction_epilogue(program: Program) -> None:
    sch = Schedule(program.module)
    sch.fuse_reduction_epilogue("C", "D")
    text = sch.mod.script()
    assert "alloc_buffer" not in text
    assert 'T.block("D")' not in text
    runs(sch, program)
    if program is BIAS:
        assert "D[vj, vi] = X[vj] * 2.0" in text
    i, j, k = sch.get_loops("C")
    sch.reorder(k, j, i)
    sch.decompose_reduction("C", k)
    runs(sch, program)


def test_rfactor_of_sums_that_begin_with_an_epilogue() -> None:
    sch = Schedule(BIAS.module)
    sch.fuse_reduction_epilogue("C", "D")
    outer, _ = sch.split(sch.get_loops("C")[-1], [None, 2])
    sch.rfactor(outer, 0)
    runs(sch, BIAS)


def test_fuse_reduction_epilogue_of_tiles() -> None:
    sch = Schedule(BIAS.module)
    outer, _ = sch.split(sch.get_loops("D")[0], [None, 2])
    sch.compute_at("C", outer)
    sch.fuse_reduction_epilogue("C", "D")
    runs(sch, BIAS)


@pytest.mark.parametrize(
    ("end", "why"),
    [("T.max({one}, {two})", "combined by 'addf', as the reduction combines"),
     ("{one} * {two}", "combined by 'addf'"),
     ("{two} - {one}", "combined by 'addf'"),
     ("{one} + {one}", "does not read 'C' just once")],
)  # fmt: skip
def test_fuse_reduction_epilogue_refuses(end: str, why: str) -> None:
    program = reduced("other", "0", "{one} + {two}", end, lambda a, x: a)
    sch = Schedule(program.module)
    text = refused(sch, lambda: sch.fuse_reduction_epilogue("C", "D"), why)
    assert "^" in text
    refused(sch, lambda: sch.fuse_reduction_epilogue("D", "C"), "block 'D' is no reduction block")
    relu = Schedule(MATMUL_RELU.module)
    refused(relu, lambda: relu.fuse_reduction_epilogue("C", "D"), "combined by 'addf'")


@pytest.mark.parametrize("threshold", [0, 1, 2])
def test_cache_index(threshold: int) -> None:
    sch = Schedule(RESIZE.module)
    made = sch.cache_index("B", "local", threshold)
    assert len(made) == (1 if threshold == 2 else 2)
    text = sch.mod.script()
    assert 'index_var_0 = T.alloc_buffer((7, 8), "int32", scope="local")' in text
    assert ("A[index_var_0[vi, vj], vj]" in text) or ("index_var_0[vi, vj]" in text)
    runs(sch, RESIZE)
    sch.parallel(sch.get_loops(made[0])[0])
    runs(sch, RESIZE)


def test_cache_index_of_plain_indices() -> None:
    sch = Schedule(ELEMENTWISE.module)
    assert sch.cache_index("B", "local") == []
    runs(sch, ELEMENTWISE)
    refused(sch, lambda: sch.cache_index("B", "local", -1), "must not be negative")


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 0, 2], [0, 1, 2]])
def test_reorder_block_iter_var(order: list[int]) -> None:
    for program in (MATMUL, DYNAMIC_MATMUL):
        sch = Schedule(program.module)
        sch.split(sch.get_loops("C")[1], [None, 4])
        sch.reorder_block_iter_var("C", order)
        names = ["vi", "vj", "vk"]
        text = sch.mod.script()
        places = [text.index(f"{names[i]} = T.axis") for i in order]
        assert places == sorted(places)
        runs(sch, program)
    for bad in ([0, 1], [0, 0, 1], [1, 2, 3]):
        refused(sch, lambda bad=bad: sch.reorder_block_iter_var("C", bad), "each of 0 to 2 once")


def test_read_at_and_write_at() -> None:
    for program in (MATMUL, DYNAMIC_MATMUL):
        sch = Schedule(program.module)
        i, j, k = sch.get_loops("C")
        i0, i1 = sch.split(i, [None, 2])
        k0, k1 = sch.split(k, [None, 4])
        sch.reorder(i0, k0, i1, j, k1)
        copy = sch.read_at(k0, "C", 0, "shared")
        assert "auto_copy" in sch.mod.script()
        assert len(sch.get_loops(copy)) == 4
        runs(sch, program)
        sch.read_at(k0, "C", "B", "shared")
        sch.write_at(i0, "C", 0, "local")
        runs(sch, program)


def test_read_at_of_what_the_step_computes() -> None:
    sch = Schedule(CHAIN.module)
    loop = sch.get_loops("D")[0]
    sch.compute_at("C", loop)
    sch.read_at(loop, "D", "C", "local")
    runs(sch, CHAIN)


def test_read_at_refuses() -> None:
    sch = Schedule(CHAIN.module)
    loop = sch.get_loops("B")[0]
    text = refused(sch, lambda: sch.read_at(loop, "C", 0, "local"), "'i' is not around block 'C'")
    assert "^" in text
    refused(sch, lambda: sch.write_at(loop, "C", 0, "local"), "is not around")
    refused(sch, lambda: sch.read_at(loop, "B", 3, "local"), "no read buffer number 3")
    mat = Schedule(MATMUL.module)
    inner = mat.get_loops("C")[2]
    refused(mat, lambda: mat.write_at(inner, "C", 0, "local"), "not done with its reduction")


@pytest.mark.parametrize("update", ["C[vi] + C[vi]", "C[vi] + C[vi] * A[vi, vk]"])
def test_fuse_reduction_epilogue_refuses_sums_of_themselves(update: str) -> None:
    text = f"""def main(A: T.Buffer((4, 3), "float32"), D: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 1.0
            C[vi] = {update}
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] + A[vi, 0]
"""
    sch = Schedule(from_source(HEAD + text))
    refused(sch, lambda: sch.fuse_reduction_epilogue("C", "D"), "is made of what it stores")
