// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --lower-tir -split-input-file | FileCheck %s

// The epilogue of a convolution is computed from a tile's sums before they are stored: no buffer is
// between, and each channel's bias is read once for a row of pixels.

// CHECK-LABEL: func.func private @conv2d_add_relu(
// CHECK-SAME: %[[B:arg2]]: memref<1x32x1x1xf32>
// CHECK-NOT: memref.alloc(
// CHECK: %[[SCRATCH:.*]] = memref.alloca() {{.*}}memref<256xf32>
// CHECK: vector.fma
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, %[[SCRATCH]]
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = vector.load %[[SCRATCH]]
// CHECK: %[[BIAS:.*]] = vector.broadcast {{.*}} : f32 to vector<16xf32>
// CHECK: %[[ADDED:.*]] = arith.addf %[[SUM]], %[[BIAS]]
// CHECK: %[[MAX:.*]] = arith.maximumf {{.*}}%[[ADDED]]
// CHECK: vector.maskedstore {{.*}}, %[[MAX]]
func.func @first(%x: tensor<1x4x7x7xf32>, %w: tensor<2x3x4x3x16xf32>, %b: tensor<1x32x1x1xf32>) -> tensor<1x32x5x7xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 0, 1>, kernel_layout = "OHIW16o"} : (tensor<1x4x7x7xf32>, tensor<2x3x4x3x16xf32>) -> tensor<1x32x5x7xf32>
  %0 = "relax.add"(%y, %b) : (tensor<1x32x5x7xf32>, tensor<1x32x1x1xf32>) -> tensor<1x32x5x7xf32>
  %1 = "relax.relu"(%0) : (tensor<1x32x5x7xf32>) -> tensor<1x32x5x7xf32>
  return %1 : tensor<1x32x5x7xf32>
}

// -----

// A window over single channels computes it from the sums in registers.

// CHECK-LABEL: func.func private @conv2d_relu(
// CHECK-NOT: between
// CHECK: vector.fma
// CHECK: %[[MAX:.*]] = arith.maximumf
// CHECK: vector.maskedstore {{.*}}, %[[MAX]]
func.func @planes(%x: tensor<1x8x19x19xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2>, groups = 8} : (tensor<1x8x19x19xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  %0 = "relax.relu"(%y) : (tensor<1x8x10x10xf32>) -> tensor<1x8x10x10xf32>
  return %0 : tensor<1x8x10x10xf32>
}

// -----

// Pooling is a window over planes too; around the image there is what changes no maximum.

// CHECK-LABEL: func.func private @max_pool2d(
// CHECK-NOT: Padded
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK: [[LINE:%.*]] = memref.alloc
// CHECK: vector.store %[[LOWEST]], [[LINE]]
// Rows of the image are combined in place; NaN is detected beside the maxima.
// CHECK: scf.if
// CHECK: vector.maskedload [[IMAGE:%[0-9a-z]+]]
// CHECK-COUNT-3: arith.cmpf ogt, {{.*}} : vector<16xf32>
// CHECK: arith.cmpf uno, {{.*}} : vector<16xf32>
// CHECK: arith.select
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, [[LINE]]
// CHECK: } else {
// CHECK-COUNT-3: vector.load [[LINE]]
// CHECK: vector.maskedstore
func.func @pool(%x: tensor<1x8x19x19xf32>) -> tensor<1x8x10x10xf32> attributes {relax.function} {
  %y = "relax.max_pool2d"(%x) {pool_size = array<i64: 3>, padding = array<i64: 1>, strides = array<i64: 2>} : (tensor<1x8x19x19xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}
