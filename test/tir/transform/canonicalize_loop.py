# RUN: %PYTHON %s | FileCheck %s
"""Pass `CanonicalizeLoop`: loops begin at 0."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @part
# CHECK: "tir.for"(%c0, %c5)
# CHECK: ^bb0(%[[I:.*]]: index
# CHECK: %[[AT:.*]] = arith.addi %[[I]], %c3
# CHECK: memref.store %{{.*}}, %A[%[[AT]]]
@T.prim_func
def part(A: T.Buffer((8,), "float32")):
    for i in range(3, 8):
        A[i] = 1.0


print(tir.transform.CanonicalizeLoop()(part))
