// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_x2_f32 = tensor<?x?x2xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 2)>>>
!n_x3_i8 = tensor<?x3xi8, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!n_x4_i32 = tensor<?x4xi32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>
!m_f16 = tensor<?xf16, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
!n_i64 = tensor<?xi64, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_m_i64 = tensor<?x?xi64, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_n_m_f32 = tensor<?x?x?xf32, #relax.dims<["k", "m", "n"], affine_map<()[s0, s1, s2] -> (s0, s2, s1)>>>
!n_m_x10_f32 = tensor<?x?x10xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 10)>>>
!n_i32 = tensor<?xi32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!x5_n_i64 = tensor<5x?xi64, #relax.dims<["n"], affine_map<()[s0] -> (5, s0)>>>

// CHECK-LABEL: func.func @full(
func.func @full(%arg0: !n_m_f32, %arg1: tensor<f32>) -> !n_m_x2_f32 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 2)>>>
  // CHECK: "relax.full"({{.*}}) {dtype} : (
  %1 = "relax.full"(%0, %arg1) {dtype} : (!relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 2)>>>, tensor<f32>) -> !n_m_x2_f32
  return %1 : !n_m_x2_f32
}

// CHECK-LABEL: func.func @full_of_another_dtype(
func.func @full_of_another_dtype(%arg0: !n_m_f32, %arg1: tensor<f32>) -> !n_x3_i8 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
  // CHECK: "relax.full"({{.*}}) {dtype = "int8"} : (
  %1 = "relax.full"(%0, %arg1) {dtype = "int8"} : (!relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>, tensor<f32>) -> !n_x3_i8
  return %1 : !n_x3_i8
}

// CHECK-LABEL: func.func @full_like(
func.func @full_like(%arg0: !n_m_f32, %arg1: tensor<f32>) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.full_like"({{.*}}) {dtype} : (
  %0 = "relax.full_like"(%arg0, %arg1) {dtype} : (!n_m_f32, tensor<f32>) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @zeros(
func.func @zeros(%arg0: !n_m_f32) -> !n_x4_i32 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>
  // CHECK: "relax.zeros"({{.*}}) {dtype = "int32"} : (
  %1 = "relax.zeros"(%0) {dtype = "int32"} : (!relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>) -> !n_x4_i32
  return %1 : !n_x4_i32
}

// CHECK-LABEL: func.func @zeros_like(
func.func @zeros_like(%arg0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.zeros_like"({{.*}}) {dtype} : (
  %0 = "relax.zeros_like"(%arg0) {dtype} : (!n_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @ones(
func.func @ones(%arg0: !n_m_f32) -> !m_f16 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
  // CHECK: "relax.ones"({{.*}}) {dtype = "float16"} : (
  %1 = "relax.ones"(%0) {dtype = "float16"} : (!relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0)>>>) -> !m_f16
  return %1 : !m_f16
}

// CHECK-LABEL: func.func @ones_like(
func.func @ones_like(%arg0: tensor<?x?x!relax.any_dtype>) -> tensor<?x?xi1> attributes {relax.function} {
  // CHECK: "relax.ones_like"({{.*}}) {dtype = "bool"} : (
  %0 = "relax.ones_like"(%arg0) {dtype = "bool"} : (tensor<?x?x!relax.any_dtype>) -> tensor<?x?xi1>
  return %0 : tensor<?x?xi1>
}

// CHECK-LABEL: func.func @arange(
func.func @arange(%arg0: !n_m_f32) -> !n_i64 attributes {relax.function} {
  // CHECK: "relax.arange"({{.*}}) {dtype, end, start = #relax.dims<["n"], #map{{[0-9]*}}>, step = 1 : i64} : (
  %0 = "relax.arange"() {dtype, end, start = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>, step = 1 : i64} : () -> !n_i64
  return %0 : !n_i64
}

// CHECK-LABEL: func.func @arange_between(
func.func @arange_between(%arg0: !n_m_f32) -> tensor<?xi64, #relax.dims<["T.max(0, n * 2 - 1)"], affine_map<()[s0] -> ((s0 + 2) floordiv 3)>>> attributes {relax.function} {
  // CHECK: "relax.arange"({{.*}}) {dtype, end = #relax.dims<["n"], #map{{[0-9]*}}>, start = 1 : i64, step = 3 : i64} : (
  %0 = "relax.arange"() {dtype, end = #relax.dims<["n"], affine_map<()[s0] -> (s0 * 2)>>, start = 1 : i64, step = 3 : i64} : () -> tensor<?xi64, #relax.dims<["T.max(0, n * 2 - 1)"], affine_map<()[s0] -> ((s0 + 2) floordiv 3)>>>
  return %0 : tensor<?xi64, #relax.dims<["T.max(0, n * 2 - 1)"], affine_map<()[s0] -> ((s0 + 2) floordiv 3)>>>
}

// CHECK-LABEL: func.func @arange_of_floats(
func.func @arange_of_floats(%arg0: !n_m_f32) -> tensor<4xf32> attributes {relax.function} {
  // CHECK: "relax.arange"({{.*}}) {dtype, end = 1.000000e+00 : f64, start = 0 : i64, step = 2.500000e-01 : f64} : (
  %0 = "relax.arange"() {dtype, end = 1.000000e+00 : f64, start = 0 : i64, step = 2.500000e-01 : f64} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @arange_of_unknown_length(
func.func @arange_of_unknown_length(%arg0: !n_m_f32) -> tensor<?xf32> attributes {relax.function} {
  // CHECK: "relax.arange"({{.*}}) {dtype, end = #relax.dims<["n"], #map{{[0-9]*}}>, start = 0 : i64, step = 5.000000e-01 : f64} : (
  %0 = "relax.arange"() {dtype, end = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>, start = 0 : i64, step = 5.000000e-01 : f64} : () -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @eye(
func.func @eye(%arg0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.eye"({{.*}}) {dtype = "float32", k = 1 : i64, m = #relax.dims<["m"], #map{{[0-9]*}}>, n = #relax.dims<["n"], #map{{[0-9]*}}>} : (
  %0 = "relax.eye"() {dtype = "float32", k = 1 : i64, m = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>, n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @eye_like(
func.func @eye_like(%arg0: !n_m_f32) -> !n_m_i64 attributes {relax.function} {
  // CHECK: "relax.eye_like"({{.*}}) {dtype = "int64", k = 0 : i64} : (
  %0 = "relax.eye_like"(%arg0) {dtype = "int64", k = 0 : i64} : (!n_m_f32) -> !n_m_i64
  return %0 : !n_m_i64
}

// CHECK-LABEL: func.func @tril(
func.func @tril(%arg0: !k_n_m_f32) -> !k_n_m_f32 attributes {relax.function} {
  // CHECK: "relax.tril"({{.*}}) {k = -1 : i64} : (
  %0 = "relax.tril"(%arg0) {k = -1 : i64} : (!k_n_m_f32) -> !k_n_m_f32
  return %0 : !k_n_m_f32
}

// CHECK-LABEL: func.func @triu(
func.func @triu(%arg0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.triu"({{.*}}) {k = #relax.dims<["n"], #map{{[0-9]*}}>} : (
  %0 = "relax.triu"(%arg0) {k = #relax.dims<["n"], affine_map<()[s0] -> (s0 - 1)>>} : (!n_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @one_hot(
func.func @one_hot(%arg0: !n_m_i64) -> !n_m_x10_f32 attributes {relax.function} {
  // CHECK: "relax.one_hot"({{.*}}) {axis = -1 : i64, depth = 10 : i64, off_value = 0.000000e+00 : f64, on_value = 1.000000e+00 : f64} : (
  %0 = "relax.one_hot"(%arg0) {axis = -1 : i64, depth = 10 : i64, off_value = 0.000000e+00 : f64, on_value = 1.000000e+00 : f64} : (!n_m_i64) -> !n_m_x10_f32
  return %0 : !n_m_x10_f32
}

// CHECK-LABEL: func.func @one_hot_in_front(
func.func @one_hot_in_front(%arg0: !n_i32) -> !x5_n_i64 attributes {relax.function} {
  // CHECK: "relax.one_hot"({{.*}}) {axis = 0 : i64, depth = 5 : i64, off_value = 0 : i64, on_value = 1 : i64} : (
  %0 = "relax.one_hot"(%arg0) {axis = 0 : i64, depth = 5 : i64, off_value = 0 : i64, on_value = 1 : i64} : (!n_i32) -> !x5_n_i64
  return %0 : !x5_n_i64
}
