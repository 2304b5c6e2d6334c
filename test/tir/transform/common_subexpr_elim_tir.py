# RUN: %PYTHON %s | FileCheck %s
"""Pass `CommonSubexprElimTIR`: what is the same is computed once."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @twice
# CHECK-COUNT-1: math.exp
# CHECK-NOT: math.exp
# CHECK: return
@T.prim_func
def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        x = A[i]
        B[i] = T.exp(x) * T.exp(x)


print(tir.transform.CommonSubexprElimTIR()(twice))
