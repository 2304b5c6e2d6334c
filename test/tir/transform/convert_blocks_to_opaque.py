# RUN: %PYTHON %s | FileCheck %s
"""Pass `ConvertBlocksToOpaque`: values of iterators take their place."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @add
# CHECK: ^bb0(%[[I:.*]]: index):
# CHECK: %[[ROW:.*]] = arith.addi
# CHECK: %[[IN:.*]] = arith.cmpi slt
# CHECK: "tir.block"() ({
# CHECK: "tir.where"(%[[IN]])
# CHECK: "tir.reads"(%A) {map} :
# CHECK: "tir.writes"(%B) {map} :
# CHECK: memref.load %A[%[[ROW]]]
# CHECK: memref.store %{{.*}}, %B[%[[ROW]]]
# CHECK: }) {block_name = "B", iter_types = []} : () -> ()
@T.prim_func
def add(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            T.where(i * 8 + j < 30)
            v = T.axis.spatial(30, i * 8 + j)
            B[v] = A[v] + T.float32(1)


print(tir.transform.ConvertBlocksToOpaque()(add))
