// RUN: relax-opt %s --fold-batchnorm-to-conv2d | FileCheck %s

!X = tensor<2x3x8x8xf32>
!W = tensor<4x3x3x3xf32>
!Y = tensor<2x4x6x6xf32>
!V = tensor<4xf32>
!T = tuple<!Y, !V, !V>

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>, %[[G:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[M:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<4xf32>)
// CHECK: %[[R:.*]] = "relax.rsqrt"
// CHECK: %[[F:.*]] = "relax.multiply"(%[[G]], %[[R]])
// CHECK: %[[F4:.*]] = "relax.reshape"(%[[F]], {{.*}} -> tensor<4x1x1x1xf32>
// CHECK: %[[NW:.*]] = "relax.multiply"(%[[W]], %[[F4]])
// CHECK: %[[C:.*]] = "relax.conv2d"(%[[X]], %[[NW]])
// CHECK: %[[H:.*]] = "relax.reshape"(%{{.*}} -> tensor<1x4x1x1xf32>
// CHECK: %[[A:.*]] = "relax.add"(%[[C]], %[[H]])
// CHECK: return %[[A]]
func.func @main(%x: !X, %w: !W, %g: !V, %b: !V, %m: !V, %s: !V) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %t = "relax.batch_norm"(%c, %g, %b, %m, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (!Y, !V, !V, !V, !V) -> !T
  %y = "relax.tuple_get_item"(%t) {index = 0 : i64} : (!T) -> !Y
  return %y : !Y
}

// A convolution that something else reads, and statistics that are used, stay.

// CHECK-LABEL: func.func @stay
// CHECK: "relax.batch_norm"
// CHECK: "relax.batch_norm"
func.func @stay(%x: !X, %w: !W, %v: !V) -> tuple<!Y, !Y, !V> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %t = "relax.batch_norm"(%c, %v, %v, %v, %v) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (!Y, !V, !V, !V, !V) -> !T
  %y = "relax.tuple_get_item"(%t) {index = 0 : i64} : (!T) -> !Y
  %d = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %u = "relax.batch_norm"(%d, %v, %v, %v, %v) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (!Y, !V, !V, !V, !V) -> !T
  %m = "relax.tuple_get_item"(%u) {index = 1 : i64} : (!T) -> !V
  %z = "relax.add"(%y, %c) : (!Y, !Y) -> !Y
  %r = builtin.unrealized_conversion_cast %y, %z, %m : !Y, !Y, !V to tuple<!Y, !Y, !V>
  return %r : tuple<!Y, !Y, !V>
}
