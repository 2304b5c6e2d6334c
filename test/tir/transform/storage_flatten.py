# RUN: %PYTHON %s | FileCheck %s
"""Pass `StorageFlatten`: the old name of `FlattenBuffer`; sizes may be symbols."""

from relax_mlir import tir
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import tir as T


# CHECK: def double(
# CHECK-DAG: A1 = T.decl_buffer((m * n,), "float32", data=A.data)
# CHECK-DAG: B1 = T.decl_buffer((m * n,), "float32", data=B.data)
# CHECK: B1[i * m + j] = A1[i * m + j] + A1[i * m + j]
# CHECK: reads back
@T.prim_func
def double(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] + A[i, j]


flat = tir.transform.StorageFlatten()(double)
print(flat.script())
assert_structural_equal(from_source(flat.script()), flat)
print("reads back")
