# RUN: %PYTHON %s | FileCheck %s
"""Pass `SkipAssert`: assertions go, what they are about stays."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @checked
# CHECK-NOT: tir.assert
# CHECK: memref.store
@T.prim_func
def checked(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        T.Assert(n + i < 20, "few")
        A[i] = 1.0


print(tir.transform.SkipAssert()(checked))
