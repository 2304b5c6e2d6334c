# RUN: %PYTHON %s | FileCheck %s
"""Pass `InstrumentBoundCheckers`: an assertion in front of every access, once."""

import numpy as np

from relax_mlir import tir
from relax_mlir.errors import VMError
from relax_mlir.ir import structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @shifted
# CHECK: %[[N:.*]] = "tir.symbol"() {value = #relax.dims<["n"]
# CHECK: arith.cmpi sge, %[[ROW:.*]], %c0
# CHECK: arith.cmpi slt, %[[ROW]], %[[N]]
# CHECK: arith.cmpi sge, %[[COLUMN:.*]], %c0
# CHECK: arith.cmpi slt, %[[COLUMN]], %c4
# CHECK-NEXT: arith.andi
# CHECK-NEXT: %[[ALL:.*]] = arith.andi
# CHECK-NEXT: "tir.assert"(%[[ALL]]) {message = "index out of bounds of buffer 'A'"}
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


# Checks of buffers of any size are words of scripts.
# CHECK: sized: True
print("sized:", structural_equal(from_source(checked(shifted).script()), checked(shifted)))


# A negative index is caught in what is printed and read again, too.
# CHECK: again: assertion failed: index out of bounds of buffer 'A'
@T.prim_func
def moved(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), shift: T.int64):
    for i in range(4):
        B[i] = A[i + shift]


build = tir.build(from_source(checked(moved).script()))["moved"]
try:
    build(np.ones(4, "float32"), np.ones(4, "float32"), -1)
except VMError as error:
    print("again:", str(error).partition(": ")[2])
