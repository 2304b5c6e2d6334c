# RUN: %PYTHON %s | FileCheck %s
"""Pass `CompactBufferAllocation`: a buffer is as large as what a step uses of it."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK: #[[SHAPE:.*]] = affine_map<() -> (1, 10)>
# CHECK-LABEL: func.func @halo
# CHECK: memref.alloc() {{.*}}tir.shape = #relax.dims<[], #[[SHAPE]]>{{.*}} : memref<1x10xf32>
# CHECK: ^bb0(%[[J:.*]]: index):
# CHECK: memref.store %{{.*}}, %C[%c0{{.*}}, %[[J]]] : memref<1x10xf32>
# CHECK: ^bb0(%[[J:.*]]: index):
# CHECK: memref.load %C[%c0{{.*}}, %[[J]]]
@T.prim_func
def halo(A: T.Buffer((16, 34), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j0 in T.grid(16, 4):
        C = T.alloc_buffer((16, 34), "float32")
        for j in range(10):
            C[i, j0 * 8 + j] = A[i, j0 * 8 + j] * T.float32(2)
        for j in range(8):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(32, j0 * 8 + j)
                B[vi, vj] = C[vi, vj] + C[vi, vj + 2]


print(tir.transform.CompactBufferAllocation()(halo))
