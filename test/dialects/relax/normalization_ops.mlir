// RUN: relax-opt %s | relax-opt | FileCheck %s

!X = tensor<2x5x4xf32>
!P = tensor<5xf32>

// CHECK-LABEL: func.func @batch_norm
// CHECK: "relax.batch_norm"({{.*}}) {axis = 1 : i64, training = false}
// CHECK-SAME: -> tuple<tensor<2x5x4xf32>, tensor<5xf32>, tensor<5xf32>>
func.func @batch_norm(%x: !X, %p: !P) attributes {relax.function} {
  %a = "relax.batch_norm"(%x, %p, %p, %p, %p) {axis = 1, training = false} : (!X, !P, !P, !P, !P) -> tuple<!X, !P, !P>
  return
}

// CHECK-LABEL: func.func @layer_norm
// CHECK: "relax.layer_norm"({{.*}}) {axes = array<i64: 1, 2>, epsilon = 1.000000e-03 : f64}
func.func @layer_norm(%x: !X, %p: tensor<5x4xf32>, %u: tensor<*xf32>) attributes {relax.function} {
  %a = "relax.layer_norm"(%x, %p, %p) {axes = array<i64: 1, 2>, epsilon = 0.001 : f64} : (!X, tensor<5x4xf32>, tensor<5x4xf32>) -> !X
  %b = "relax.layer_norm"(%u, %u, %u) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  return
}

// CHECK-LABEL: func.func @dropout
// CHECK: "relax.dropout"(%{{.*}}) {rate = 2.500000e-01 : f64} : (tensor<2x5x4xf32>) -> tuple<tensor<2x5x4xf32>, tensor<2x5x4xf32>>
func.func @dropout(%x: !X) attributes {relax.function} {
  %a = "relax.dropout"(%x) {rate = 0.25 : f64} : (!X) -> tuple<!X, !X>
  return
}
