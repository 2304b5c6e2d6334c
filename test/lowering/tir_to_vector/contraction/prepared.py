# RUN: %PYTHON %s | FileCheck %s
"""Nests that are given another form first: divided iterators, bools, padding (pass `lower-tir`)."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"


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

    # What a condition pads is no memory: lanes and rows around the image are masked off.
    # CHECK-LABEL: func.func @guarded
    # CHECK-NOT: memref.alloc
    # CHECK: vector.maskedload
    # CHECK-NOT: memref.alloc
    # CHECK: return
    @T.prim_func
    def guarded(A: T.Buffer((4, 30, 30), "float32"), B: T.Buffer((4, 30, 30), "float32")):
        P = T.alloc_buffer((4, 32, 32), "float32")
        for c, i, j in T.grid(4, 32, 32):
            with T.block("pad_temp"):
                vc, vi, vj = T.axis.remap("SSS", [c, i, j])
                P[vc, vi, vj] = T.if_then_else(
                    vi >= 1 and vi < 31 and vj >= 1 and vj < 31,
                    A[vc, vi - 1, vj - 1],
                    T.float32(0),
                )
        for c, i, j, y, x in T.grid(4, 30, 30, 3, 3):
            with T.block("sum"):
                vc, vi, vj, vy, vx = T.axis.remap("SSSRR", [c, i, j, y, x])
                with T.init():
                    B[vc, vi, vj] = T.float32(0)
                B[vc, vi, vj] += P[vc, vi + vy, vj + vx]

    # Loops that were split and fused are those of the iterators again, without a condition.
    # CHECK-LABEL: func.func @tiled
    # CHECK-NOT: arith.floordivsi
    # CHECK: vector.fma {{.*}} : vector<16xf32>
    # CHECK: return
    @T.prim_func
    def tiled(
        A: T.Buffer((37, 23), "float32"),
        B: T.Buffer((23, 41), "float32"),
        C: T.Buffer((37, 41), "float32"),
    ):
        for f, k0, k1 in T.grid(1517, 3, 8):
            with T.block("C"):
                i = T.axis.spatial(37, f // 41)
                j = T.axis.spatial(41, f % 41)
                k = T.axis.reduce(23, k0 * 8 + k1)
                T.where(k0 * 8 + k1 < 23)
                with T.init():
                    C[i, j] = T.float32(0)
                C[i, j] += A[i, k] * B[k, j]


print(transform.LowerTIR(target=TARGET)(Module))
