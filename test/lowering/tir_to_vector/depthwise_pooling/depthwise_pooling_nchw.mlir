// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --lower-tir -split-input-file | FileCheck %s

// Where loads with masks cost more than others, planes are copied with their borders.

// A window over single channels: each plane goes to fast memory, its columns sorted by the stride.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK: [[PLANE:%.*]] = memref.alloc
// CHECK: [[FIRST:%.*]] = vector.maskedload
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, [[PLANE]]
// CHECK: vector.load [[PLANE]]
// CHECK: vector.fma
// CHECK: vector.store {{.*}} vector<2xf32>
func.func @planes(%x: tensor<1x8x19x19xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2>, groups = 8} : (tensor<1x8x19x19xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}

// -----

// Small planes are copied and read one by one; a vector has one row of outputs.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK: [[PLANE:%.*]] = memref.alloc
// CHECK: scf.for {{.*}} to %c32 step %c1
// CHECK: vector.maskedload
// CHECK: vector.store {{.*}}, [[PLANE]]
// CHECK: vector.load [[PLANE]]
// CHECK-COUNT-27: vector.fma
// CHECK: vector.store {{.*}} vector<2xf32>
// CHECK: vector.store {{.*}} vector<1xf32>
func.func @short_rows(%x: tensor<1x32x3x3xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x3x3xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32} : (tensor<1x32x3x3xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x3x3xf32>
  return %y : tensor<1x32x3x3xf32>
}
