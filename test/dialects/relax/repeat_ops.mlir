// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!x2_n_m_times_3_f32 = tensor<2x?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (2, s1, s0 * 3)>>>
!n_m_times_2_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0 * 2)>>>
!m_times_n_times_2_f32 = tensor<?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1 * (s0 * 2))>>>
!n_plus_3_m_plus_3_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1 + 3, s0 + 3)>>>

// CHECK-LABEL: func.func @tile(
func.func @tile(%arg0: !n_m_f32) -> !x2_n_m_times_3_f32 attributes {relax.function} {
  // CHECK: "relax.tile"({{.*}}) {repeats = array<i64: 2, 1, 3>} : (
  %0 = "relax.tile"(%arg0) {repeats = array<i64: 2, 1, 3>} : (!n_m_f32) -> !x2_n_m_times_3_f32
  return %0 : !x2_n_m_times_3_f32
}

// CHECK-LABEL: func.func @repeat(
func.func @repeat(%arg0: !n_m_f32) -> !n_m_times_2_f32 attributes {relax.function} {
  // CHECK: "relax.repeat"({{.*}}) {axis = 1 : i64, repeats = 2 : i64} : (
  %0 = "relax.repeat"(%arg0) {axis = 1 : i64, repeats = 2 : i64} : (!n_m_f32) -> !n_m_times_2_f32
  return %0 : !n_m_times_2_f32
}

// CHECK-LABEL: func.func @repeat_flattened(
func.func @repeat_flattened(%arg0: !n_m_f32) -> !m_times_n_times_2_f32 attributes {relax.function} {
  // CHECK: "relax.repeat"({{.*}}) {axis, repeats = 2 : i64} : (
  %0 = "relax.repeat"(%arg0) {axis, repeats = 2 : i64} : (!n_m_f32) -> !m_times_n_times_2_f32
  return %0 : !m_times_n_times_2_f32
}

// CHECK-LABEL: func.func @flip(
func.func @flip(%arg0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.flip"({{.*}}) {axis = -1 : i64} : (
  %0 = "relax.flip"(%arg0) {axis = -1 : i64} : (!n_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @roll(
func.func @roll(%arg0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.roll"({{.*}}) {axis = array<i64: 0, 1>, shift = array<i64: 1, -2>} : (
  %0 = "relax.roll"(%arg0) {axis = array<i64: 0, 1>, shift = array<i64: 1, -2>} : (!n_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @pad(
func.func @pad(%arg0: !n_m_f32) -> !n_plus_3_m_plus_3_f32 attributes {relax.function} {
  // CHECK: "relax.pad"({{.*}}) {pad_mode = "constant", pad_value = 1.500000e+00 : f64, pad_width = array<i64: 1, 2, 0, 3>} : (
  %0 = "relax.pad"(%arg0) {pad_mode = "constant", pad_value = 1.500000e+00 : f64, pad_width = array<i64: 1, 2, 0, 3>} : (!n_m_f32) -> !n_plus_3_m_plus_3_f32
  return %0 : !n_plus_3_m_plus_3_f32
}

// CHECK-LABEL: func.func @pad_of_unknown_rank(
func.func @pad_of_unknown_rank(%arg0: tensor<*x!relax.any_dtype>) -> tensor<?x?x!relax.any_dtype> attributes {relax.function} {
  // CHECK: "relax.pad"({{.*}}) {pad_mode = "reflect", pad_value = 0.000000e+00 : f64, pad_width = array<i64: 1, 2, 0, 3>} : (
  %0 = "relax.pad"(%arg0) {pad_mode = "reflect", pad_value = 0.000000e+00 : f64, pad_width = array<i64: 1, 2, 0, 3>} : (tensor<*x!relax.any_dtype>) -> tensor<?x?x!relax.any_dtype>
  return %0 : tensor<?x?x!relax.any_dtype>
}
