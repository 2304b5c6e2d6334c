# RUN: %PYTHON %s | FileCheck %s
"""Pass `LowerOpaqueBlock`: blocks become what is in them, loops of one step that step."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @add
# CHECK-COUNT-1: "tir.for"
# CHECK-NOT: "tir.for"
# CHECK: scf.if
# CHECK: memref.store
# CHECK-NOT: "tir.block"
@T.prim_func
def add(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i, j in T.grid(1, 32):
        with T.block("B"):
            T.where(i * 32 + j < 30)
            v = T.axis.spatial(30, i * 32 + j)
            B[v] = A[v] + T.float32(1)


print(tir.transform.LowerOpaqueBlock()(add))
