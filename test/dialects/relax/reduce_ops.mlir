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

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_1_f32 = tensor<?x1xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 1)>>>
!n_m_i8 = tensor<?x?xi8, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!m_i1 = tensor<?xi1, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
!n_m_f16 = tensor<?x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_i64 = tensor<?xi64, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_m_ui8 = tensor<?x?xui8, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>

// CHECK-LABEL: func.func @moments(
func.func @moments(%a0: !n_m_f32) -> !n_1_f32 attributes {relax.function} {
  // CHECK: "relax.std"{{.*}} -> tensor<?x1xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.std"(%a0) {axis = array<i64: -1>, keepdims = true} : (!n_m_f32) -> !n_1_f32
  return %0 : !n_1_f32
}

// Truth is a bool, whatever is reduced.
// CHECK-LABEL: func.func @truths(
func.func @truths(%a0: !n_m_i8) -> !m_i1 attributes {relax.function} {
  // CHECK: "relax.any"{{.*}} -> tensor<?xi1, #relax.dims<["m"], #{{.*}}>>
  %0 = "relax.any"(%a0) {axis = array<i64: 0>, keepdims = false} : (!n_m_i8) -> !m_i1
  return %0 : !m_i1
}

// CHECK-LABEL: func.func @place_along_an_axis(
func.func @place_along_an_axis(%a0: !n_m_f16) -> !n_i64 attributes {relax.function} {
  // CHECK: "relax.argmax"{{.*}} -> tensor<?xi64, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.argmax"(%a0) {axis = 1 : i64, keepdims = false} : (!n_m_f16) -> !n_i64
  return %0 : !n_i64
}

// CHECK-LABEL: func.func @place_in_order(
func.func @place_in_order(%a0: !n_m_ui8) -> tensor<1x1xi64> attributes {relax.function} {
  // CHECK: "relax.argmin"{{.*}} -> tensor<1x1xi64>
  %0 = "relax.argmin"(%a0) {axis, keepdims = true} : (!n_m_ui8) -> tensor<1x1xi64>
  return %0 : tensor<1x1xi64>
}

// CHECK-LABEL: func.func @place_unknown(
func.func @place_unknown(%a0: tensor<*x!relax.any_dtype>) -> tensor<*xi64> attributes {relax.function} {
  // CHECK: "relax.argmax"{{.*}} -> tensor<*xi64>
  %0 = "relax.argmax"(%a0) {axis = 1 : i64, keepdims = false} : (tensor<*x!relax.any_dtype>) -> tensor<*xi64>
  return %0 : tensor<*xi64>
}
