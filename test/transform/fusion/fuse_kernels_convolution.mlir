// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --split-input-file | FileCheck %s

!X = tensor<?x4x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 4, s0, s2)>>>
!W = tensor<8x4x3x3xf32>
!B = tensor<1x8x1x1xf32>
!Y = tensor<?x8x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 8, s0, s2)>>>

// What follows a convolution joins its kernel, padded copy and all.

// CHECK-LABEL: func.func @layer
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:conv2d_add_add_relu]]}
// CHECK-NOT: "relax.call_tir"
// CHECK: return
// CHECK: func.func private @[[KERNEL]](
// CHECK-DAG: memref.alloc{{.*}}tir.name = "Padded"
// CHECK-DAG: memref.alloc{{.*}}tir.name = "between1"
// CHECK-NOT: memref.alloc
// CHECK: block_name = "conv2d"
// CHECK: arith.maximumf
func.func @layer(%x: !X, %w: !W, %b: !B, %r: !Y) -> !Y attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !Y
  %1 = "relax.add"(%0, %b) : (!Y, !B) -> !Y
  %2 = "relax.add"(%r, %1) : (!Y, !Y) -> !Y
  %3 = "relax.relu"(%2) : (!Y) -> !Y
  return %3 : !Y
}

// -----

!X = tensor<1x4x8x8xf32>
!W = tensor<4x4x3x3xf32>

// Sums that something else needs too are written.

// CHECK-LABEL: func.func @kept
// CHECK: "relax.call_tir"{{.*}}@conv2d}
// CHECK: "relax.call_tir"{{.*}}@relu}
func.func @kept(%x: !X, %w: !W) -> tuple<!X, !X> attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %1 = "relax.relu"(%0) : (!X) -> !X
  %2 = builtin.unrealized_conversion_cast %0, %1 : !X, !X to tuple<!X, !X>
  return %2 : tuple<!X, !X>
}
