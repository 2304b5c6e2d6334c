"""Prim funcs scheduled by hand: loops of every kind, split over sizes that do not divide."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernels import Guarded, close, values

from relax_mlir import relax, transform
from relax_mlir.errors import PassError
from relax_mlir.lowering.target.target import Target
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

pytestmark = pytest.mark.unoptimized

NO_CACHE = {"relax.compile_cache": False}


def compiled(mod: Any, threads: int = 1) -> Callable[..., None]:
    with transform.PassContext(config=NO_CACHE):
        vm = relax.VirtualMachine(relax.build(mod, Target.default().with_threads(threads)))
    return vm["main"]


def run(mod: Any, inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Run with one thread and with two, between canaries; both must give the same bits."""
    results = []
    for threads in (1, 2):
        garbage = np.full(shape, np.nan if "float" in dtype else 77, dtype)
        arguments = [Guarded(value) for value in (*inputs, garbage)]
        compiled(mod, threads)(*(value.array for value in arguments))
        for value in arguments:
            value.check()
        results.append(arguments[-1].array)
    np.testing.assert_array_equal(results[0], results[1])
    return results[0]


def tiles(size: int, tile: int) -> int:
    return -(-size // tile)


def matmul(m: int, n: int, k: int, bm: int, bn: int, dtype: str = "float32") -> Any:
    mo, no = tiles(m, bm), tiles(n, bn)

    @I.ir_module
    class Module:
        @T.prim_func
        def main(
            A: T.Buffer((m, k), dtype), B: T.Buffer((k, n), dtype), C: T.Buffer((m, n), dtype)
        ):
            for j0 in T.parallel(no):
                for i0 in T.serial(mo):
                    for kk in T.serial(k):
                        for i1 in T.unroll(bm):
                            for j1 in T.vectorized(bn):
                                with T.block("C"):
                                    T.where(i0 * bm + i1 < m and j0 * bn + j1 < n)
                                    vi = T.axis.spatial(m, i0 * bm + i1)
                                    vj = T.axis.spatial(n, j0 * bn + j1)
                                    vk = T.axis.reduce(k, kk)
                                    with T.init():
                                        C[vi, vj] = 0
                                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    return Module


@pytest.mark.parametrize("tile", [(4, 16), (3, 24), (8, 40)])
@pytest.mark.parametrize("size", [(8, 32, 5), (37, 61, 29), (3, 1, 0)])
def test_matmul(size: tuple[int, int, int], tile: tuple[int, int]) -> None:
    m, n, k = size
    a, b = values((m, k), "float32"), values((k, n), "float32")
    close(run(matmul(*size, *tile), [a, b], (m, n)), a @ b)


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16", "int8"])
def test_matmul_of_dtypes(dtype: str) -> None:
    a, b = values((13, 7), dtype), values((7, 37), dtype)
    want = (a.astype("float64") @ b.astype("float64")).astype("int64").astype(dtype)
    if "float" in dtype:
        want = (a.astype("float64") @ b.astype("float64")).astype(dtype)
    got = run(matmul(13, 37, 7, 4, 16, dtype), [a, b], (13, 37), dtype)
    close(got, want)


def packed_matmul(m: int, n: int, k: int, bm: int, bn: int, bk: int) -> Any:
    """The matmul of a good schedule: packed operand, blocked reduction, local accumulators."""
    mo, no, ko = tiles(m, bm), tiles(n, bn), tiles(k, bk)

    @I.ir_module
    class Module:
        @T.prim_func
        def main(
            A: T.Buffer((m, k), "float32"), B: T.Buffer((k, n), "float32"),
            C: T.Buffer((m, n), "float32"),
        ):  # fmt: skip
            P = T.alloc_buffer((no, k, bn), "float32")
            for j0, kk in T.grid(no, k):
                for j1 in T.vectorized(bn):
                    with T.block("pack"):
                        T.where(j0 * bn + j1 < n)
                        vo, vk, vj = T.axis.remap("SSS", [j0, kk, j1])
                        P[vo, vk, vj] = B[vk, vo * bn + vj]
            for j0 in T.parallel(no):
                for k0, i0 in T.grid(ko, mo):
                    L = T.alloc_buffer((bm, bn), "float32")
                    for i1 in T.unroll(bm):
                        for j1 in T.vectorized(bn):
                            with T.block("zero"):
                                vi, vj = T.axis.remap("SS", [i1, j1])
                                L[vi, vj] = 0.0
                    for k1 in T.serial(bk):
                        for i1 in T.unroll(bm):
                            for j1 in T.vectorized(bn):
                                with T.block("L"):
                                    T.where(i0 * bm + i1 < m and k0 * bk + k1 < k)
                                    vi, vj = T.axis.remap("SS", [i1, j1])
                                    vk = T.axis.reduce(k, k0 * bk + k1)
                                    L[vi, vj] = L[vi, vj] + A[i0 * bm + vi, vk] * P[j0, vk, vj]
                    for i1 in T.unroll(bm):
                        for j1 in T.vectorized(bn):
                            with T.block("C"):
                                T.where(i0 * bm + i1 < m and j0 * bn + j1 < n)
                                vi = T.axis.spatial(m, i0 * bm + i1)
                                vj = T.axis.spatial(n, j0 * bn + j1)
                                if k0 == 0:
                                    C[vi, vj] = L[i1, j1]
                                else:
                                    C[vi, vj] = C[vi, vj] + L[i1, j1]

    return Module


@pytest.mark.parametrize("size", [(24, 64, 32), (37, 61, 29), (129, 127, 131)])
def test_packed_matmul(size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = values((m, k), "float32"), values((k, n), "float32")
    close(run(packed_matmul(*size, 12, 32, 16), [a, b], (m, n)), a @ b)


@pytest.mark.parametrize("lanes", [3, 8, 64])
@pytest.mark.parametrize("size", [0, 17, 1000])
def test_elementwise_of_symbolic_size(size: int, lanes: int) -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i0 in T.parallel((n + (lanes - 1)) // lanes):
                for i1 in T.vectorized(lanes):
                    with T.block("B"):
                        T.where(i0 * lanes + i1 < n)
                        v = T.axis.spatial(n, i0 * lanes + i1)
                        B[v] = T.exp(A[v]) + T.Cast("float32", v)

    a = values((size,), "float32")
    close(run(Module, [a], (size,)), np.exp(a) + np.arange(size, dtype="float32"))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_strided_and_gathered(dtype: str) -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(
            A: T.Buffer((19, 23), dtype), X: T.Buffer((19,), "int32"), B: T.Buffer((23, 19), dtype)
        ):
            for j in T.parallel(23):
                for i in T.vectorized(19):
                    with T.block("B"):
                        vj, vi = T.axis.remap("SS", [j, i])
                        B[vj, vi] = A[X[vi], vj] + A[vi, 22 - vj]

    a = values((19, 23), dtype)
    x = np.random.default_rng(1).permutation(19).astype("int32")
    close(run(Module, [a, x], (23, 19), dtype), a[x].T + a.T[::-1])


def test_scattered() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((7, 21), "float32"), B: T.Buffer((21, 7), "float32")):
            for i in T.serial(7):
                for j in T.vectorized(21):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[20 - vj, vi] = A[vi, vj]

    a = values((7, 21), "float32")
    np.testing.assert_array_equal(run(Module, [a], (21, 7)), a.T[::-1])


@pytest.mark.parametrize("size", [1, 16, 45, 300])
def test_vectorized_reduction(size: int) -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((5, size), "float32"), B: T.Buffer((5,), "float32")):
            for i in T.parallel(5):
                for k in T.vectorized(size):
                    with T.block("B"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            B[vi] = T.float32(-1e30)
                        B[vi] = T.max(B[vi], A[vi, vk] * T.float32(2))

    a = values((5, size), "float32")
    np.testing.assert_array_equal(run(Module, [a], (5,)), a.max(axis=1) * 2)


def test_steps_that_need_each_other_stay_in_order() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((50,), "float32"), B: T.Buffer((50,), "float32")):
            B[0] = A[0]
            for i in T.vectorized(49):
                B[i + 1] = B[i] + A[i + 1]

    a = values((50,), "float32")
    close(run(Module, [a], (50,)), np.cumsum(a))


def test_condition_by_lane() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
            for i in T.vectorized(40):
                if A[i] > 20:
                    B[i] = 1000 // (A[i] - 20)
                else:
                    B[i] = T.if_then_else(i < 39, A[T.min(i + 1, 39)], 5)

    a = values((40,), "int32")
    after = np.append(a[1:], 5).astype("int32")
    want = np.where(a > 20, 1000 // np.maximum(a - 20, 1), after)
    np.testing.assert_array_equal(run(Module, [a], (40,), "int32"), want)


def test_compute_at_under_a_parallel_loop() -> None:
    """The intermediate buffer is everybody's in the program and each step's own in the code."""

    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32")):
            M = T.alloc_buffer((48,), "float32")
            for i in T.parallel(64):
                for j in T.vectorized(48):
                    with T.block("M"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        M[vj] = A[vi, vj] * T.float32(3)
                for j in T.vectorized(48):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = M[vj] + M[47 - vj]

    a = values((64, 48), "float32")
    close(run(Module, [a], (64, 48)), a * 3 + a[:, ::-1] * 3)


def test_fused_and_split_three_times() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((13, 29), "float32"), B: T.Buffer((13, 29), "float32")):
            for f in T.parallel(13 * 4):
                for j1 in T.unroll(2):
                    for j2 in T.vectorized(4):
                        with T.block("B"):
                            T.where((f % 4) * 8 + j1 * 4 + j2 < 29)
                            vi = T.axis.spatial(13, f // 4)
                            vj = T.axis.spatial(29, (f % 4) * 8 + j1 * 4 + j2)
                            B[vi, vj] = A[vi, vj] + T.float32(1)

    a = values((13, 29), "float32")
    np.testing.assert_array_equal(run(Module, [a], (13, 29)), a + np.float32(1))


def test_parallel_reduction_is_refused() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((1,), "float32")):
            for k0 in T.parallel(8):
                for k1 in T.serial(32):
                    with T.block("B"):
                        vk = T.axis.reduce(256, k0 * 32 + k1)
                        with T.init():
                            B[0] = 0.0
                        B[0] = B[0] + A[vk // 32, vk % 32]

    with pytest.raises(PassError, match="carries the reduction iterator of block 'B'"):
        compiled(Module)


def test_parallel_writes_to_one_place_run_in_order() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((3000,), "int32"), B: T.Buffer((1,), "int32")):
            B[0] = 0
            for i in T.parallel(3000):
                B[0] = B[0] * 3 + A[i]

    a = values((3000,), "int32")
    want = np.zeros(1, "int32")
    for each in a:
        want = want * np.int32(3) + each
    np.testing.assert_array_equal(run(Module, [a], (1,), "int32"), want)
