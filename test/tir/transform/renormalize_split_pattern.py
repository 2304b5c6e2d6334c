# RUN: %PYTHON %s | FileCheck %s
"""Pass `RenormalizeSplitPattern`: quotients and remainders that splits leave behind."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @split_again
# CHECK: %[[WHOLE:.*]] = arith.muli %i, %c4
# CHECK-NEXT: %[[AT:.*]] = arith.addi %[[WHOLE]], %j
# CHECK-NEXT: memref.load %A[%[[AT]]]
# CHECK-NOT: divsi
# CHECK: memref.store
@T.prim_func
def split_again(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i, j in T.grid(8, 4):
        B[i * 4 + j] = A[(i * 4 + j) // 8 * 8 + (i * 4 + j) % 8]


print(tir.transform.RenormalizeSplitPattern()(split_again))
