// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2" --legalize-ops --lower-tir -split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --lower-tir -split-input-file | FileCheck %s --check-prefix=AVX2

// Without loads with masks, planes are copied with their borders. With AVX2 they are read in place;
// stores with masks are slow there: the last vector of a row overlaps the one before, and what
// vectors of short rows store too much the next row overwrites.

// A window over single channels: each plane goes to fast memory, its columns sorted by the stride.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK: [[PLANE:%.*]] = memref.alloc
// CHECK: [[FIRST:%.*]] = vector.maskedload
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, [[PLANE]]
// CHECK: vector.load [[PLANE]]
// CHECK: arith.addf
// CHECK: vector.store {{.*}} vector<2xf32>
// AVX2-LABEL: func.func private @conv2d(
// AVX2-NOT: memref.alloc
// AVX2-COUNT-10: vector.store {{.*}} vector<8xf32>
// AVX2-NOT: vector.store
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
// CHECK-COUNT-27: arith.addf
// CHECK: vector.store {{.*}} vector<1xf32>
// AVX2-LABEL: func.func private @conv2d(
// AVX2-NOT: memref.alloc
// AVX2-COUNT-2: vector.store {{.*}} vector<8xf32>
// AVX2: vector.store {{.*}} vector<4xf32>
// AVX2-NEXT: vector.extract_strided_slice
// AVX2: vector.store {{.*}} vector<1xf32>
// AVX2-NOT: vector.store
func.func @short_rows(%x: tensor<1x32x3x5xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x3x5xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32} : (tensor<1x32x3x5xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x3x5xf32>
  return %y : tensor<1x32x3x5xf32>
}
