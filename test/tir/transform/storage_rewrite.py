# RUN: %PYTHON %s | FileCheck %s
"""Pass `StorageRewrite`: buffers used one after the other are one."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @chain
# CHECK-COUNT-2: memref.alloc
# CHECK-NOT: memref.alloc
# CHECK: return
@T.prim_func
def chain(A: T.Buffer((8,), "float32"), E: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    C = T.alloc_buffer((8,), "float32")
    D = T.alloc_buffer((8,), "float32")
    for i in range(8):
        B[i] = A[i] + T.float32(1)
    for i in range(8):
        C[i] = B[7 - i]
    for i in range(8):
        D[i] = C[i] + T.float32(1)
    for i in range(8):
        E[i] = D[7 - i]


print(tir.transform.StorageRewrite()(chain))
