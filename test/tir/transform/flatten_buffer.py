# RUN: %PYTHON %s | FileCheck %s
"""Pass `FlattenBuffer`: every access is one of one dimension."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @turn
# CHECK-DAG: %[[A:.*]] = memref.reinterpret_cast %A {{.*}}to memref<32xf32, strided<[1]>>
# CHECK-DAG: %[[B:.*]] = memref.reinterpret_cast %B {{.*}}to memref<32xf32, strided<[1]>>
# CHECK: ^bb0(%i: index):
# CHECK: ^bb0(%j: index):
# CHECK: %[[ROW:.*]] = arith.muli %i, %c8
# CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %j
# CHECK: %[[X:.*]] = memref.load %[[A]][%[[AT]]] : memref<32xf32, strided<[1]>>
# CHECK: %[[COLUMN:.*]] = arith.muli %j, %c4
# CHECK: %[[TO:.*]] = arith.addi %[[COLUMN]], %i
# CHECK: memref.store %[[X]], %[[B]][%[[TO]]] : memref<32xf32, strided<[1]>>
@T.prim_func
def turn(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(4, 8):
        B[j, i] = A[i, j]


print(tir.transform.FlattenBuffer()(turn))
