// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

!n_m_i32 = tensor<?x?xi32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_i64 = tensor<?x?xi64, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_3_f32 = tensor<?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!n_times_3_f32 = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0 * 3)>>>

// CHECK-LABEL: func.func @along_an_axis(
func.func @along_an_axis(%a0: !n_m_i32) -> !n_m_i64 attributes {relax.function} {
  // CHECK: "relax.cumsum"{{.*}} -> tensor<?x?xi64, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.cumsum"(%a0) {axis = -1 : i64, dtype = "int64", exclusive = false} : (!n_m_i32) -> !n_m_i64
  return %0 : !n_m_i64
}

// Without an axis the operand is flattened.
// CHECK-LABEL: func.func @flattened(
func.func @flattened(%a0: !n_3_f32) -> !n_times_3_f32 attributes {relax.function} {
  // CHECK: "relax.cumprod"{{.*}} -> tensor<?xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.cumprod"(%a0) {axis, dtype, exclusive = true} : (!n_3_f32) -> !n_times_3_f32
  return %0 : !n_times_3_f32
}

// CHECK-LABEL: func.func @unknown_rank(
func.func @unknown_rank(%a0: tensor<*x!relax.any_dtype>) -> tensor<*x!relax.any_dtype> attributes {relax.function} {
  // CHECK: "relax.cumsum"{{.*}} -> tensor<*x!relax.any_dtype>
  %0 = "relax.cumsum"(%a0) {axis = 0 : i64, dtype, exclusive = false} : (tensor<*x!relax.any_dtype>) -> tensor<*x!relax.any_dtype>
  return %0 : tensor<*x!relax.any_dtype>
}

// CHECK-LABEL: func.func @unknown_shape(
func.func @unknown_shape(%a0: tensor<?x?xf16>) -> tensor<?xf16> attributes {relax.function} {
  // CHECK: "relax.cumsum"{{.*}} -> tensor<?xf16>
  %0 = "relax.cumsum"(%a0) {axis, dtype, exclusive = false} : (tensor<?x?xf16>) -> tensor<?xf16>
  return %0 : tensor<?xf16>
}
