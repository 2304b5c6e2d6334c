// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --lower-tir | FileCheck %s

!X = tensor<48x64xf32>
!W = tensor<64x32xf32>
!B = tensor<32xf32>
!Y = tensor<48x32xf32>

// The bias and the maximum are computed from sums in registers, without a buffer.

// CHECK-LABEL: func.func private @matmul_add_relu
// CHECK-SAME: %{{.*}}: memref<48x64xf32>{{.*}}, %{{.*}}: memref<64x32xf32>{{.*}}, %[[B:.*]]: memref<32xf32>{{.*}}, %[[OUT:.*]]: memref<48x32xf32>
// CHECK-NOT: memref.alloc(
// CHECK: %[[TO:.*]] = memref.collapse_shape %[[OUT]]
// CHECK-NOT: vector.store
// CHECK: %[[SUMS:.*]]:24 = scf.for
// CHECK: vector.fma
// CHECK: %[[BIAS:.*]] = vector.load %[[B]]
// CHECK: %[[ADDED:.*]] = arith.addf %[[SUMS]]#0, %[[BIAS]]
// CHECK: %[[MAX:.*]] = arith.maximumf {{.*}}%[[ADDED]]
// CHECK: vector.store %[[MAX]], %[[TO]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @layer(%x: !X, %w: !W, %b: !B) -> !Y attributes {relax.function} {
  %0 = "relax.matmul"(%x, %w) : (!X, !W) -> !Y
  %1 = "relax.add"(%0, %b) : (!Y, !B) -> !Y
  %2 = "relax.relu"(%1) : (!Y) -> !Y
  return %2 : !Y
}
