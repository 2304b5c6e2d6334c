// RUN: relax-opt %s --decompose-ops-for-training | FileCheck %s

!X = tensor<2x3x5x5xf32>
!V = tensor<3xf32>
!T = tuple<!X, !V, !V>

// The statistics of the batch normalize, and bring the running ones up to date.

// CHECK-LABEL: func.func @batch
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x5x5xf32>, %{{.*}}, %{{.*}}, %[[M:.*]]: tensor<3xf32>, %[[S:.*]]: tensor<3xf32>)
// CHECK: %[[MEAN:.*]] = "relax.mean"(%[[X]]) {axis = array<i64: 0, 2, 3>, keepdims = false}
// CHECK: %[[VAR:.*]] = "relax.variance"(%[[X]]) {axis = array<i64: 0, 2, 3>, {{.*}}keepdims = false}
// CHECK: "relax.expand_dims"(%[[MEAN]])
// CHECK: "relax.expand_dims"(%[[VAR]])
// CHECK: %[[OLD:.*]] = "relax.multiply"(%{{.*}}, %[[M]])
// CHECK: %[[NEW:.*]] = "relax.multiply"(%{{.*}}, %[[MEAN]])
// CHECK: %[[RM:.*]] = "relax.add"(%[[OLD]], %[[NEW]])
// CHECK: %[[RS:.*]] = "relax.add"
// CHECK-NEXT: builtin.unrealized_conversion_cast %{{.*}}, %[[RM]], %[[RS]]
func.func @batch(%x: !X, %g: !V, %b: !V, %m: !V, %s: !V) -> !T attributes {relax.function} {
  %t = "relax.batch_norm"(%x, %g, %b, %m, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (!X, !V, !V, !V, !V) -> !T
  return %t : !T
}

// CHECK-LABEL: func.func @layer
// CHECK: "relax.mean"({{.*}}) {axis = array<i64: -1>, keepdims = true}
// CHECK: "relax.subtract"
// CHECK: "relax.variance"({{.*}}) {axis = array<i64: -1>
// CHECK: "relax.sqrt"
// CHECK: "relax.divide"
// CHECK: "relax.multiply"
// CHECK: "relax.add"
// CHECK-NOT: "relax.layer_norm"
func.func @layer(%x: tensor<2x3xf32>, %v: !V) -> tensor<2x3xf32> attributes {relax.function} {
  %y = "relax.layer_norm"(%x, %v, %v) {axes = array<i64: -1>, epsilon = 1.0e-5 : f64, center = true, scale = true} : (tensor<2x3xf32>, !V, !V) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// Axes that are not the last ones in order: gamma does not broadcast as it stands.

// CHECK-LABEL: func.func @first
// CHECK: "relax.layer_norm"
func.func @first(%x: tensor<3x2xf32>, %v: !V) -> tensor<3x2xf32> attributes {relax.function} {
  %y = "relax.layer_norm"(%x, %v, %v) {axes = array<i64: 0>, epsilon = 1.0e-5 : f64, center = true, scale = true} : (tensor<3x2xf32>, !V, !V) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}
