# RUN: %PYTHON %s | FileCheck %s
"""Pass `RemoveNoOp`: what has no effect goes."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @idle
# CHECK-NOT: memref.alloc
# CHECK-COUNT-1: "tir.for"
# CHECK-NOT: "tir.for"
# CHECK-COUNT-1: memref.store
# CHECK-NOT: memref.store
# CHECK: return
@T.prim_func
def idle(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        A[i] = A[i]
    for i in range(0):
        A[i] = T.float32(1)
    for i in range(8):
        B[i] = A[i]
    for i in range(8):
        if i < 3:
            A[i] = T.float32(1)
        if i < 4:
            B[i] = T.float32(1)


print(tir.transform.RemoveNoOp()(idle))
