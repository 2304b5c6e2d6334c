# RUN: %PYTHON %s | FileCheck %s
"""Reductions that are given another form first: divided iterators, bools (pass `lower-tir`)."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Groups are loops of their own, so that this is a convolution in groups: vectors of outputs.
    # CHECK-LABEL: func.func @grouped
    # CHECK-NOT: arith.floordivsi
    # CHECK: vector.fma {{.*}} : vector<16xf32>
    # CHECK: return
    @T.prim_func
    def grouped(
        A: T.Buffer((1, 32, 6, 20), "float32"),
        W: T.Buffer((64, 8, 3, 3), "float32"),
        B: T.Buffer((1, 64, 4, 18), "float32"),
    ):
        for n, c, h, w, i, y, x in T.grid(1, 64, 4, 18, 8, 3, 3):
            with T.block("conv"):
                vn, vc, vh, vw, vi, vy, vx = T.axis.remap("SSSSRRR", [n, c, h, w, i, y, x])
                with T.init():
                    B[vn, vc, vh, vw] = T.float32(0)
                B[vn, vc, vh, vw] += A[vn, vc // 16 * 8 + vi, vh + vy, vw + vx] * W[vc, vi, vy, vx]

    # Remainders are the inner loop's counter.
    # CHECK-LABEL: func.func @rests
    # CHECK-NOT: arith.floordivsi
    # CHECK-NOT: arith.remsi
    # CHECK: vector
    # CHECK: return
    @T.prim_func
    def rests(A: T.Buffer((8, 4, 100), "float32"), B: T.Buffer((32,), "float32")):
        for c, k in T.grid(32, 100):
            with T.block("sum"):
                vc, vk = T.axis.remap("SR", [c, k])
                with T.init():
                    B[vc] = T.float32(0)
                B[vc] += A[vc // 4, T.truncmod(vc, 4), vk]

    # What does not divide an extent stays.
    # CHECK-LABEL: func.func @uneven
    # CHECK: arith.floordivsi
    # CHECK: return
    @T.prim_func
    def uneven(A: T.Buffer((9, 100), "float32"), B: T.Buffer((33,), "float32")):
        for c, k in T.grid(33, 100):
            with T.block("sum"):
                vc, vk = T.axis.remap("SR", [c, k])
                with T.init():
                    B[vc] = T.float32(0)
                B[vc] += A[vc // 4, vk]

    # Bytes are combined, not bools that are made of them.
    # CHECK-LABEL: func.func @every
    # CHECK: arith.andi {{.*}} : vector<64xi8>
    # CHECK: return
    @T.prim_func
    def every(A: T.Buffer((33, 100), "bool"), B: T.Buffer((33,), "bool")):
        for c, k in T.grid(33, 100):
            with T.block("every"):
                vc, vk = T.axis.remap("SR", [c, k])
                with T.init():
                    B[vc] = T.bool(True)
                B[vc] = T.And(B[vc], A[vc, vk])


print(transform.LowerTIR()(Module))
