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
def edge(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32"), x: T.float32):
    for i in range(9):
        B[i] = T.Select(i < 8, T.exp(A[i]), x)
        B[i] = B[i] + T.Select(i < 4, x, x * x)


print(tir.transform.RewriteUnsafeSelect()(edge))
