# RUN: %PYTHON %s | FileCheck %s
"""Pass `ConvertForLoopsToSerial`: parallel loops become serial."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @add
# CHECK: {kind = "unrolled"}
# CHECK: {kind = "serial"}
@T.prim_func
def add(A: T.Buffer((4, 2), "float32")):
    for i in T.parallel(4):
        for j in T.unroll(2):
            A[i, j] = T.float32(1)


print(tir.transform.ConvertForLoopsToSerial()(add))
