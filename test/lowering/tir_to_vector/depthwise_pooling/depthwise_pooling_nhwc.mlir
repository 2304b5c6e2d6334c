// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir -split-input-file | FileCheck %s

// Windows of one channel each, channels last: no padded copy; a tile of pixels in a vector of
// channels, first of places inside of the image, then with masks.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} step %c16
// CHECK: vector.load
// CHECK-NOT: vector.maskedload
// CHECK: vector.fma
// CHECK: vector.store
// CHECK: scf.for {{.*}} step %c16
// CHECK: vector.maskedload
// CHECK: vector.fma
// CHECK: vector.maskedstore
func.func @depthwise(%x: tensor<1x14x14x32xf32>, %w: tensor<3x3x1x32xf32>) -> tensor<1x14x14x32xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x14x14x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x14x14x32xf32>
  return %y : tensor<1x14x14x32xf32>
}

// -----

// Nothing is around the image, and all tiles are whole: there are no masks.

// CHECK-LABEL: func.func private @max_pool2d(
// CHECK-NOT: memref.alloc
// CHECK-NOT: vector.maskedload
// CHECK: vector.load
// CHECK: arith.maxsi
// CHECK-NOT: vector.maskedload
// CHECK: return
func.func @pooling(%x: tensor<1x8x16x32xf32>) -> tensor<1x4x8x32xf32> attributes {relax.function} {
  %y = "relax.max_pool2d"(%x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x8x16x32xf32>) -> tensor<1x4x8x32xf32>
  return %y : tensor<1x4x8x32xf32>
}

// -----

// Groups of four channels: in turn each of a group's channels goes to all of its lanes.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: memref.alloc
// CHECK: [[PIXEL:%.*]] = vector.load
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]
// CHECK: vector.fma
// CHECK: vector.shuffle {{.*}} [3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15]
// CHECK: vector.fma
// CHECK: vector.maskedstore
func.func @groups(%x: tensor<1x28x28x128xf32>, %w: tensor<3x3x4x128xf32>) -> tensor<1x28x28x128xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x28x28x128xf32>, tensor<3x3x4x128xf32>) -> tensor<1x28x28x128xf32>
  return %y : tensor<1x28x28x128xf32>
}

// -----

// Large windows are separable: the rows that a row of outputs sees are combined into a buffer, whose
// pixels are combined then. A row at a border is a loop over those of the image.

// CHECK-LABEL: func.func private @max_pool2d(
// CHECK: [[ROWS:%.*]] = memref.alloc{{.*}} : memref<{{[0-9]+}}xf32>
// CHECK: scf.if
// CHECK-COUNT-5: vector.load
// CHECK-NOT: vector.load
// CHECK: vector.store {{.*}}, [[ROWS]]
// CHECK: else
// CHECK-COUNT-1: vector.load
// CHECK-NOT: vector.load
// CHECK: vector.store {{.*}}, [[ROWS]]
// CHECK-COUNT-5: vector.load [[ROWS]]
// CHECK-NOT: vector.load
// CHECK: vector.store
func.func @large_pooling(%x: tensor<1x16x15x32xf32>) -> tensor<1x16x15x32xf32> attributes {relax.function} {
  %y = "relax.max_pool2d"(%x) {pool_size = array<i64: 5, 5>, padding = array<i64: 2>, layout = "NHWC"} : (tensor<1x16x15x32xf32>) -> tensor<1x16x15x32xf32>
  return %y : tensor<1x16x15x32xf32>
}
