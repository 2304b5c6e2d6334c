# RUN: %PYTHON %s | FileCheck %s
"""Pass `CommonSubexprElim`: the later name of `CommonSubexprElimTIR`."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @twice
# CHECK: math.exp
# CHECK-NOT: math.exp
@T.prim_func
def twice(A: T.Buffer((8,), "float32"), x: T.float32):
    for i in range(8):
        A[i] = T.exp(x) + T.exp(x)


print(tir.transform.CommonSubexprElim()(twice))
