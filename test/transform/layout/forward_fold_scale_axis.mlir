// RUN: relax-opt %s --forward-fold-scale-axis | FileCheck %s

!X = tensor<1x2x5x5xf32>
!W = tensor<3x2x3x3xf32>
!Y = tensor<1x3x3x3xf32>
!S = tensor<3x1x1xf32>

// The scale of an input.

// CHECK-LABEL: func.func @input
// CHECK: %[[S4:.*]] = "relax.reshape"({{.*}} -> tensor<1x2x1x1xf32>
// CHECK: %[[W:.*]] = "relax.multiply"(%{{.*}}, %[[S4]]){{.*}} -> tensor<3x2x3x3xf32>
// CHECK: "relax.conv2d"(%{{.*}}, %[[W]])
func.func @input(%x: !X, %w: !W, %s: tensor<1x2x1x1xf32>) -> !Y attributes {relax.function} {
  %m = "relax.multiply"(%x, %s) : (!X, tensor<1x2x1x1xf32>) -> !X
  %c = "relax.conv2d"(%m, %w) : (!X, !W) -> !Y
  return %c : !Y
}

// Not what follows the convolution, and not past a ReLU that a negative number would turn round.

// CHECK-LABEL: func.func @stays
// CHECK: %[[M:.*]] = "relax.multiply"
// CHECK: %[[R:.*]] = "relax.relu"(%[[M]])
// CHECK: %[[C:.*]] = "relax.conv2d"(%[[R]]
// CHECK: "relax.multiply"(%[[C]]
func.func @stays(%x: !X, %w: !W, %s: !S) -> !Y attributes {relax.function} {
  %n = "relax.constant"() {value = dense<[[[1.0]], [[-2.0]]]> : tensor<2x1x1xf32>} : () -> tensor<2x1x1xf32>
  %m = "relax.multiply"(%x, %n) : (!X, tensor<2x1x1xf32>) -> !X
  %r = "relax.relu"(%m) : (!X) -> !X
  %c = "relax.conv2d"(%r, %w) : (!X, !W) -> !Y
  %y = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
  return %y : !Y
}

// Past a ReLU and pooling when all are positive.

// CHECK-LABEL: func.func @passes
// CHECK: "relax.relu"(%{{.*}})
// CHECK: %[[P:.*]] = "relax.max_pool2d"
// CHECK: %[[W:.*]] = "relax.multiply"
// CHECK: "relax.conv2d"(%[[P]], %[[W]])
func.func @passes(%x: !X, %w: tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32> attributes {relax.function} {
  %n = "relax.constant"() {value = dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>} : () -> tensor<2x1x1xf32>
  %m = "relax.multiply"(%x, %n) : (!X, tensor<2x1x1xf32>) -> !X
  %r = "relax.relu"(%m) : (!X) -> !X
  %p = "relax.max_pool2d"(%r) {pool_size = array<i64: 2>} : (!X) -> tensor<1x2x4x4xf32>
  %c = "relax.conv2d"(%p, %w) : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return %c : tensor<1x3x4x4xf32>
}

// Not past pooling that moves the channels.

!Q = tensor<1x4x4x4xf32>

// CHECK-LABEL: func.func @moves_channels
// CHECK: %[[M:.*]] = "relax.multiply"
// CHECK: %[[P:.*]] = "relax.avg_pool2d"(%[[M]])
// CHECK: "relax.conv2d"(%[[P]], %{{.*}})
// CHECK-NOT: "relax.multiply"
// CHECK: return
func.func @moves_channels(%x: !Q, %w: tensor<3x4x1x1xf32>, %s: tensor<4x1x1xf32>) -> tensor<1x3x4x4xf32> attributes {relax.function} {
  %m = "relax.multiply"(%x, %s) : (!Q, tensor<4x1x1xf32>) -> !Q
  %p = "relax.avg_pool2d"(%m) {pool_size = array<i64: 1>, layout = "NHWC", out_layout = "NCHW"} : (!Q) -> !Q
  %c = "relax.conv2d"(%p, %w) : (!Q, tensor<3x4x1x1xf32>) -> tensor<1x3x4x4xf32>
  return %c : tensor<1x3x4x4xf32>
}
