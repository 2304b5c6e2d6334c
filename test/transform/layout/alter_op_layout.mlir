// RUN: relax-opt %s --alter-op-layout | FileCheck %s

// A convolution of few channels reads them as they are and hands on what the next one wants.

!X = tensor<1x3x8x8xf32>

// CHECK-LABEL: func.func @stem
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8x8xf32>
// CHECK: "relax.conv2d"(%[[X]], %{{.*}}) {data_layout = "NCHW", {{.*}}out_layout = "NHWC"
// CHECK: "relax.conv2d"({{.*}}data_layout = "NHWC"
// CHECK: "relax.permute_dims"({{.*}}) {axes = array<i64: 0, 3, 1, 2>}
func.func @stem(%x: !X, %w: tensor<8x3x3x3xf32>, %v: tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32> attributes {relax.function} {
  %a = "relax.conv2d"(%x, %w) : (!X, tensor<8x3x3x3xf32>) -> tensor<1x8x6x6xf32>
  %b = "relax.conv2d"(%a, %v) : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32>
  return %b : tensor<1x8x4x4xf32>
}
