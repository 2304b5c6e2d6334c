# RUN: %PYTHON %s | FileCheck %s
"""Pass `BF16ComputeLegalize`: arithmetic in float32, buffers of bfloat16."""

from relax_mlir import tir
from relax_mlir.script import tir as T


# CHECK-LABEL: func.func @product
# CHECK: %[[A:.*]] = memref.load %A
# CHECK: %[[X:.*]] = arith.extf %[[A]] : bf16 to f32
# CHECK: %[[Y:.*]] = math.exp %[[X]] : f32
# CHECK: arith.truncf %[[Y]] : f32 to bf16
# CHECK: arith.mulf {{.*}} : f32
# CHECK: arith.truncf {{.*}} : f32 to bf16
# CHECK-NOT: mulf {{.*}} : bf16
# CHECK: memref.store {{.*}} : memref<8xbf16>
@T.prim_func
def product(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        B[i] = T.exp(A[i]) * B[i]


print(tir.transform.BF16ComputeLegalize()(product))
