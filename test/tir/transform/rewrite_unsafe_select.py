# RUN: %PYTHON %s | FileCheck %s
"""Pass `RewriteUnsafeSelect`: a load in a select happens only where it is wanted."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @edge
# CHECK: %[[IN:.*]] = arith.cmpi
# CHECK: scf.if %[[IN]] -> (f32)
# CHECK: memref.load %A
# CHECK: math.exp
# CHECK: else
# CHECK-NOT: memref.load
# CHECK: scf.yield
# CHECK: arith.select {{.*}} : f32
@T.prim_func
def edge(a: T.handle, b: T.handle, x: T.float32):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i in range(m):
        B[i] = T.Select(i < n, T.exp(A[i]), x)
        B[i] = B[i] + T.Select(i < 4, x, x * x)


print(tir.transform.RewriteUnsafeSelect()(edge))
