# RUN: %PYTHON %s | FileCheck %s
"""Pass `StorageFlatten`: the old name of `FlattenBuffer`; sizes may be symbols."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @double
# CHECK: memref.collapse_shape %A
# CHECK: %[[COLUMNS:.*]] = memref.dim %A
# CHECK: %[[ROW:.*]] = arith.muli %i, %[[COLUMNS]]
# CHECK: arith.addi %[[ROW]], %j
# CHECK: memref.store {{.*}} : memref<?xf32>
@T.prim_func
def double(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] + A[i, j]


print(tir.transform.StorageFlatten()(double))
