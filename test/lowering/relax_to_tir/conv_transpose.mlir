// RUN: relax-opt %s --legalize-ops | FileCheck %s

#x = #relax.dims<["h"], affine_map<()[s0] -> (1, 4, s0, 5)>>
#y = #relax.dims<["h"], affine_map<()[s0] -> (1, 6, s0 * 2 + 1, 11)>>
#p = #relax.dims<["h"], affine_map<()[s0] -> (1, 4, 1, 1)>>

func.func @f(%x: tensor<1x4x?x5xf32, #x>, %w: tensor<4x3x3x3xf32>, %s: tensor<1x4x6x9xf32>) -> tuple<> attributes {relax.function} {
  %0 = "relax.conv2d_transpose"(%x, %w) {strides = array<i64: 2>, groups = 2 : i64} : (tensor<1x4x?x5xf32, #x>, tensor<4x3x3x3xf32>) -> tensor<1x6x?x11xf32, #y>
  %1 = "relax.adaptive_avg_pool2d"(%s) {output_size = array<i64: 2, 3>} : (tensor<1x4x6x9xf32>) -> tensor<1x4x2x3xf32>
  %2 = "relax.adaptive_avg_pool2d"(%s) {output_size = array<i64: 1>} : (tensor<1x4x6x9xf32>) -> tensor<1x4x1x1xf32>
  %3 = "relax.adaptive_avg_pool2d"(%x) {output_size = array<i64: 4, 4>} : (tensor<1x4x?x5xf32, #x>) -> tensor<1x4x4x4xf32>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// The data is spread, then convolved.
// CHECK-LABEL: func.func private @conv2d_transpose(
// CHECK: block_name = "zeros"
// CHECK: block_name = "spread"
// CHECK: block_name = "conv2d_transpose"

// Windows of one size are those of a pooling, one window is a mean, all else is summed by axis.
// CHECK-LABEL: func.func private @avg_pool2d(
// CHECK-LABEL: func.func private @mean(
// CHECK-LABEL: func.func private @adaptive_avg_pool2d(
// CHECK-COUNT-3: block_name = "windows"
// CHECK: arith.select
// CHECK: block_name = "total"
// CHECK-COUNT-3: block_name = "windows"
// CHECK: block_name = "total"
// CHECK: block_name = "mean"
