// RUN: relax-opt %s | relax-opt | FileCheck %s

#image = affine_map<()[s0, s1, s2] -> (s1, 3, s0, s2)>
#halved = affine_map<()[s0, s1, s2] -> (s1, 8, (s0 - 1) floordiv 2 + 1, s2)>
!X = tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], #image>>

// CHECK-LABEL: func.func @conv2d
// CHECK: "relax.conv2d"(%{{.*}}, %{{.*}}) : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
// CHECK: "relax.conv2d"(%{{.*}}) {padding = array<i64: 1>, strides = array<i64: 2, 1>}
// CHECK-SAME: -> tensor<?x8x?x?xf32, #relax.dims<["h", "n", "w"]
func.func @conv2d(%s: tensor<1x3x8x9xf32>, %x: !X, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  %a = "relax.conv2d"(%s, %w) : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  %b = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2, 1>} : (!X, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32, #relax.dims<["h", "n", "w"], #halved>>
  return
}

// CHECK-LABEL: func.func @layouts
// CHECK-SAME: tensor<1x8x9x4xf32>
func.func @layouts(%x: tensor<1x8x9x4xf32>, %w: tensor<3x3x2x8xf32>) attributes {relax.function} {
  %a = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", groups = 2} : (tensor<1x8x9x4xf32>, tensor<3x3x2x8xf32>) -> tensor<1x6x7x8xf32>
  %b = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", groups = 2, out_layout = "NCHW"} : (tensor<1x8x9x4xf32>, tensor<3x3x2x8xf32>) -> tensor<1x8x6x7xf32>
  return
}

// CHECK-LABEL: func.func @pool2d
func.func @pool2d(%x: tensor<1x3x8x9xf32>, %u: tensor<?x?x?x?xf32>) attributes {relax.function} {
  %a = "relax.max_pool2d"(%x) {pool_size = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x4xf32>
  %b = "relax.avg_pool2d"(%x) {pool_size = array<i64: 2>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x5xf32>
  %c = "relax.max_pool2d"(%u) {pool_size = array<i64: 2>} : (tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}
