# RUN: %PYTHON %s | FileCheck %s
"""Pass `HoistExpression`: arithmetic too."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @rows
# CHECK: ^bb0(%i: index):
# CHECK: arith.muli %i
# CHECK: "tir.for"
# CHECK: ^bb0(%j: index):
# CHECK-NEXT: arith.addi
# CHECK-NEXT: memref.store
@T.prim_func
def rows(A: T.Buffer((32,), "float32")):
    for i, j in T.grid(4, 8):
        A[i * 8 + j] = T.float32(1)


print(tir.transform.HoistExpression()(rows))
