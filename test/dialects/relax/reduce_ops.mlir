// RUN: relax-opt %s | relax-opt | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#n1 = affine_map<()[s0] -> (s0, 1)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>

// CHECK-LABEL: func.func @all(
func.func @all(%x: !n4) -> tensor<f32> attributes {relax.function} {
  // CHECK-NEXT: "relax.sum"(%{{.*}}) {axis, keepdims = false} : ({{.*}}) -> tensor<f32>
  %0 = "relax.sum"(%x) {axis, keepdims = false} : (!n4) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @one_axis(
func.func @one_axis(%x: !n4) -> tensor<4xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.max"(%{{.*}}) {axis = array<i64: 0>, keepdims = false} : ({{.*}}) -> tensor<4xf32>
  %0 = "relax.max"(%x) {axis = array<i64: 0>, keepdims = false} : (!n4) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @keepdims(
func.func @keepdims(%x: !n4) -> tensor<?x1xf32, #relax.dims<["n"], #n1>> attributes {relax.function} {
  // CHECK-NEXT: "relax.mean"(%{{.*}}) {axis = array<i64: -1>, keepdims = true}
  %0 = "relax.mean"(%x) {axis = array<i64: -1>, keepdims = true} : (!n4) -> tensor<?x1xf32, #relax.dims<["n"], #n1>>
  return %0 : tensor<?x1xf32, #relax.dims<["n"], #n1>>
}

// CHECK-LABEL: func.func @unknown_rank(
func.func @unknown_rank(%x: tensor<*xi64>) -> tensor<i64> attributes {relax.function} {
  // CHECK-NEXT: "relax.prod"(%{{.*}}) {axis, keepdims = false} : (tensor<*xi64>) -> tensor<i64>
  %0 = "relax.prod"(%x) {axis, keepdims = false} : (tensor<*xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}
