# RUN: %PYTHON %s | FileCheck %s
"""Pass `VectorizeLoop`: vectorized loops become code over vectors."""

from relax_mlir import tir
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.target import Target


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @add
    # CHECK-COUNT-2: vector.store {{.*}} vector<16xf32>
    # A rest of one piece; several pieces would be a mask.
    # CHECK: vector.store {{.*}} vector<8xf32>
    # CHECK-NOT: "tir.for"
    # CHECK: return
    @T.prim_func
    def add(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
        for i in T.vectorized(40):
            with T.block("B"):
                v = T.axis.spatial(40, i)
                B[v] = A[v] + T.float32(1)

    # CHECK-LABEL: func.func @masked
    # CHECK: arith.constant dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>
    # CHECK: vector.maskedstore {{.*}} vector<8xf32>
    @T.prim_func
    def masked(A: T.Buffer((7,), "float32")):
        for i in T.vectorized(7):
            A[i] = A[i] * T.float32(2)

    # CHECK-LABEL: func.func @apart
    # CHECK: vector.gather
    # CHECK: vector.scatter
    @T.prim_func
    def apart(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
        for i in T.vectorized(16):
            B[15 - i, 0] = A[i, 1]

    # CHECK-LABEL: func.func @total
    # CHECK: vector.load
    # CHECK: arith.addf {{.*}} vector<16xf32>
    # CHECK: arith.addf {{.*}} vector<8xf32>
    # CHECK: memref.store
    @T.prim_func
    def total(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
        for i in T.vectorized(32):
            B[0] = B[0] + A[i]

    # Steps that need each other stay a loop.
    # CHECK-LABEL: func.func @running
    # CHECK: kind = "serial"
    @T.prim_func
    def running(A: T.Buffer((33,), "float32")):
        for i in T.vectorized(32):
            A[i + 1] = A[i] + A[i + 1]


# The length of vectors is the target's.
with Target("llvm -mcpu=x86-64-v4"):
    print(tir.transform.VectorizeLoop()(Module))
# CHECK-LABEL: func.func @add
# CHECK-NOT: vector
print(tir.transform.VectorizeLoop(False)(Module))
