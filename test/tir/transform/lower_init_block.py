# RUN: %PYTHON %s | FileCheck %s
"""Pass `LowerInitBlock`: init regions get places of their own."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @rows
# CHECK: "tir.for"
# In front of the loop over k, which may have no steps.
# CHECK-NEXT: ^bb0(%[[I:.*]]: index):
# CHECK: memref.store %{{.*}}, %B[%[[I]]]
# CHECK: "tir.for"
# CHECK: "tir.block"
# CHECK: }, {
# CHECK-NEXT: }) {block_name = "B"
@T.prim_func
def rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]


print(tir.transform.LowerInitBlock()(rows))
