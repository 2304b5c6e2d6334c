# RUN: %PYTHON %s | FileCheck %s
"""Loops of the kinds that a schedule gives them (pass `lower-tir`)."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"


@I.ir_module
class Module:
    # One region of threads; whole tiles without conditions; accumulators in registers. Of a product
    # of matrices there would be another kernel: this looks for the largest.
    # CHECK-LABEL: func.func @largest
    # CHECK: omp.parallel
    # CHECK: scf.for
    # CHECK: scf.if
    # CHECK-COUNT-4: vector.load %C
    # CHECK: scf.for {{.*}} iter_args({{.*}}) -> ({{(vector<16xf32>, )+}}vector<16xf32>)
    # CHECK-NOT: memref.store
    # CHECK-COUNT-4: arith.mulf
    # CHECK: scf.yield
    # CHECK-COUNT-4: vector.store {{.*}}, %C
    # CHECK: } else {
    # CHECK: vector.create_mask
    # CHECK: omp.terminator
    @T.prim_func
    def largest(
        A: T.Buffer((1000, 512), "float32"),
        B: T.Buffer((512, 1000), "float32"),
        C: T.Buffer((1000, 1000), "float32"),
    ):
        for i0 in T.parallel(500):
            for j0, k in T.grid(32, 512):
                for i1 in T.unroll(2):
                    for j1 in T.vectorized(32):
                        with T.block("C"):
                            T.where(j0 * 32 + j1 < 1000)
                            vi = T.axis.spatial(1000, i0 * 2 + i1)
                            vj = T.axis.spatial(1000, j0 * 32 + j1)
                            vk = T.axis.reduce(512, k)
                            C[vi, vj] = T.max(C[vi, vj], A[vi, vk] * B[vk, vj])

    # What the steps of a parallel loop share a name for is each thread's own.
    # CHECK-LABEL: func.func @own
    # CHECK: omp.parallel
    # CHECK: memref.alloca() {{.*}} : memref<64xf32>
    # CHECK: scf.for
    @T.prim_func
    def own(A: T.Buffer((4096, 64), "float32"), B: T.Buffer((4096, 64), "float32")):
        M = T.alloc_buffer((64,), "float32")
        for i in T.parallel(4096):
            for j in T.vectorized(64):
                M[j] = A[i, j] * T.float32(3)
            for j in T.vectorized(64):
                B[i, j] = M[63 - j]

    # Steps that write one place run in order.
    # CHECK-LABEL: func.func @one_place
    # CHECK-NOT: omp.parallel
    # CHECK: return
    @T.prim_func
    def one_place(A: T.Buffer((1000000,), "int32"), B: T.Buffer((1,), "int32")):
        for i in T.parallel(1000000):
            B[0] = B[0] * 3 + A[i]


print(transform.LowerTIR(target=f"{TARGET} -num-threads=2")(Module))
