// RUN: relax-opt %s --legalize-ops --lower-tir -split-input-file | FileCheck %s

// A convolution reads a copy of its image that has the padding: rows of all channels, one after the
// other. A tile has 28 pixels of 32 output channels in registers, and turns them to rows as it stores.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-SAME: %[[X:arg0]]: memref<1x4x7x7xf32>
// CHECK: %[[IMAGE:.*]] = memref.collapse_shape %[[X]]
// CHECK-NOT: Padded
// CHECK: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.store {{.*}}, %[[COPY]]
// CHECK: [[ROW:%.*]] = vector.maskedload %[[IMAGE]]
// CHECK: vector.store [[ROW]], %[[COPY]]
// CHECK: [[PIXEL:%.*]] = memref.load %[[COPY]]
// CHECK: [[LANES:%.*]] = vector.broadcast [[PIXEL]] : f32 to vector<16xf32>
// CHECK: vector.fma [[LANES]], {{.*}} : vector<16xf32>
// CHECK: vector.shuffle
// CHECK: vector.maskedstore
func.func @image(%x: tensor<1x4x7x7xf32>, %w: tensor<2x3x4x3x16xf32>) -> tensor<1x32x5x7xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 0, 1>, kernel_layout = "OHIW16o"} : (tensor<1x4x7x7xf32>, tensor<2x3x4x3x16xf32>) -> tensor<1x32x5x7xf32>
  return %y : tensor<1x32x5x7xf32>
}

// -----

// With channels last the sums are stored as they are.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: vector.fma
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @last(%x: tensor<1x7x7x4xf32>, %w: tensor<2x3x4x3x16xf32>) -> tensor<1x5x5x32xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "OHIW16o"} : (tensor<1x7x7x4xf32>, tensor<2x3x4x3x16xf32>) -> tensor<1x5x5x32xf32>
  return %y : tensor<1x5x5x32xf32>
}

// -----

// A window over single channels: each plane goes to fast memory, its columns sorted by the stride.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK: [[PLANE:%.*]] = memref.alloc
// CHECK: [[FIRST:%.*]] = vector.maskedload
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, [[PLANE]]
// CHECK: vector.load [[PLANE]]
// CHECK: vector.fma
// CHECK: vector.maskedstore
func.func @planes(%x: tensor<1x8x19x19xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2>, groups = 8} : (tensor<1x8x19x19xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}

// -----

// With short rows of outputs two of them fill a vector; rows in fast memory share their border. A
// few planes are copied before the first is read.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK: [[PLANE:%.*]] = memref.alloc
// CHECK: scf.for {{.*}} to %c32 step %c8
// CHECK: scf.for {{.*}} to [[COUNT:%.*]] step %c1
// CHECK: vector.maskedload
// CHECK: vector.shuffle {{.*}} [23, 0, 1, 2, 3, 4, 5, 6, 23, 16, 17, 18
// CHECK: vector.store {{.*}}, [[PLANE]]
// CHECK: scf.for {{.*}} to [[COUNT]] step %c1
// CHECK: vector.load [[PLANE]]
// CHECK-COUNT-36: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14
// CHECK: vector.maskedstore
func.func @short_rows(%x: tensor<1x32x7x7xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32} : (tensor<1x32x7x7xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32>
  return %y : tensor<1x32x7x7xf32>
}

// -----

// With channels last pixels may be so far apart that few of them fit a cache: a copy has gaps.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: [[COPY:%.*]] = memref.alloc
// CHECK: vector.store {{.*}}, [[COPY]]
// CHECK: arith.addi {{.*}}, %c272
// CHECK: vector.fma
func.func @far_pixels(%x: tensor<1x7x7x256xf32>, %w: tensor<1x1x256x1x16xf32>) -> tensor<1x7x7x16xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "OHIW16o"} : (tensor<1x7x7x256xf32>, tensor<1x1x256x1x16xf32>) -> tensor<1x7x7x16xf32>
  return %y : tensor<1x7x7x16xf32>
}
