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
# Sums of columns are a vector in cache, however often they are added to.
# CHECK-LABEL: func.func @columns(
# CHECK-NOT: memref.prefetch
# CHECK-LABEL: func.func @unknown(
# CHECK-NOT: memref.prefetch
KNOWN = """
@T.prim_func
def {name}(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n},), "float32")):
    for i, l in T.grid({n}, {n}):
        with T.block("sum"):
            vi, vl = T.axis.remap("SR", [i, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[{place}]
"""
UNKNOWN = """
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
SOURCE = (
    KNOWN.format(name="far", n=16384, place="vi, vl")
    + KNOWN.format(name="near", n=1024, place="vi, vl")
    + KNOWN.format(name="columns", n=2048, place="vl, vi")
    + UNKNOWN
)

print(transform.LowerTIR(target=TARGET)(from_source(SOURCE)))
