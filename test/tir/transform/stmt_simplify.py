# RUN: %PYTHON %s | FileCheck %s
"""Pass `StmtSimplify`: the later name of `Simplify`."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @tiles
# CHECK-NOT: remsi
# CHECK: memref.store %{{.*}}, %A[%i]
@T.prim_func
def tiles(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i // 4 * 4 + i % 4] = 1.0


print(tir.transform.StmtSimplify()(tiles))
