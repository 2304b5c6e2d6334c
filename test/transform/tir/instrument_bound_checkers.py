# RUN: %PYTHON %s | FileCheck %s
"""Pass `InstrumentBoundCheckers`: an assertion in front of every access, once."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @shifted
# CHECK: %[[N:.*]] = memref.dim %A
# CHECK: %[[FIRST:.*]] = arith.cmpi ult, %{{.*}}, %[[N]]
# CHECK: %[[SECOND:.*]] = arith.cmpi ult, %{{.*}}, %c4
# CHECK: %[[BOTH:.*]] = arith.andi %[[FIRST]], %[[SECOND]]
# CHECK: "tir.assert"(%[[BOTH]]) {message = "index out of bounds of buffer 'A'"}
# CHECK-NEXT: memref.load %A
# CHECK: {message = "index out of bounds of buffer 'B'"}
# CHECK-NEXT: memref.store
# CHECK-NOT: tir.assert
@T.prim_func
def shifted(a: T.handle, B: T.Buffer((4,), "float32"), shift: T.int64):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    for i in range(4):
        B[i] = A[i + shift, i]


checked = tir.transform.InstrumentBoundCheckers()
print(checked(checked(shifted)))
