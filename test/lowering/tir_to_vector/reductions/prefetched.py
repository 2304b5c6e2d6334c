# RUN: %PYTHON %s | FileCheck %s
"""Reductions of more than L3 prefetch what they read; of less, or of unknown sizes, they do not."""

from relax_mlir import transform
from relax_mlir.script import from_source

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"

# CHECK-LABEL: func.func @far(
# CHECK: [[AHEAD:%.*]] = arith.addi {{.*}}, %c512 : index
# CHECK: memref.prefetch {{.*}}[[[AHEAD]]], read, locality<2>, data
# CHECK: vector.load
# CHECK-LABEL: func.func @near(
# CHECK-NOT: memref.prefetch
# CHECK-LABEL: func.func @unknown(
# CHECK-NOT: memref.prefetch
SOURCE = """
@T.prim_func
def far(A: T.Buffer((16384, 16384), "float32"), B: T.Buffer((16384,), "float32")):
    for i, l in T.grid(16384, 16384):
        with T.block("sum"):
            vi, vl = T.axis.remap("SR", [i, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vl]

@T.prim_func
def near(A: T.Buffer((1024, 1024), "float32"), B: T.Buffer((1024,), "float32")):
    for i, l in T.grid(1024, 1024):
        with T.block("sum"):
            vi, vl = T.axis.remap("SR", [i, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vl]

@T.prim_func
def unknown(a: T.handle, b: T.handle):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, l in T.grid(n, k):
        with T.block("sum"):
            vi, vl = T.axis.remap("SR", [i, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vl]
"""

print(transform.LowerTIR(target=TARGET)(from_source(SOURCE)))
