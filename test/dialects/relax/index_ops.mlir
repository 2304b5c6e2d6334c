// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_x2_i64 = tensor<?x2xi64, #relax.dims<["k"], affine_map<()[s0] -> (s0, 2)>>>
!n_k_x2_f32 = tensor<?x?x2xf32, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0, 2)>>>
!k_i32 = tensor<?xi32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!k_f32 = tensor<?xf32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!k_m_i64 = tensor<?x?xi64, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!k_m_f32 = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!n_m_x4_f32 = tensor<?x?x4xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 4)>>>
!n_k_x1_i64 = tensor<?x?x1xi64, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0, 1)>>>
!n_k_x4_f32 = tensor<?x?x4xf32, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0, 4)>>>
!n_k_i64 = tensor<?x?xi64, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_x1_i64 = tensor<?x1xi64, #relax.dims<["k"], affine_map<()[s0] -> (s0, 1)>>>
!n_m_k_f32 = tensor<?x?x?xf32, #relax.dims<["k", "m", "n"], affine_map<()[s0, s1, s2] -> (s2, s1, s0)>>>
!x5_x4_k_f32 = tensor<5x4x?xf32, #relax.dims<["k"], affine_map<()[s0] -> (5, 4, s0)>>>
!n_f32 = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!m_f32 = tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
!m_n_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0, s1)>>>

// CHECK-LABEL: func.func @take(
func.func @take(%arg0: !n_m_f32, %arg1: !k_x2_i64) -> !n_k_x2_f32 attributes {relax.function} {
  // CHECK: "relax.take"({{.*}}) {axis = 1 : i64, mode = "fast"} : (
  %0 = "relax.take"(%arg0, %arg1) {axis = 1 : i64, mode = "fast"} : (!n_m_f32, !k_x2_i64) -> !n_k_x2_f32
  return %0 : !n_k_x2_f32
}

// CHECK-LABEL: func.func @take_flattened(
func.func @take_flattened(%arg0: !n_m_f32, %arg1: !k_i32) -> !k_f32 attributes {relax.function} {
  // CHECK: "relax.take"({{.*}}) {axis, mode = "clip"} : (
  %0 = "relax.take"(%arg0, %arg1) {axis, mode = "clip"} : (!n_m_f32, !k_i32) -> !k_f32
  return %0 : !k_f32
}

// CHECK-LABEL: func.func @take_of_unknown_shape(
func.func @take_of_unknown_shape(%arg0: tensor<?x?x?xf32>, %arg1: !k_i32) -> tensor<?x?x?xf32> attributes {relax.function} {
  // CHECK: "relax.take"({{.*}}) {axis = 0 : i64, mode = "fast"} : (
  %0 = "relax.take"(%arg0, %arg1) {axis = 0 : i64, mode = "fast"} : (tensor<?x?x?xf32>, !k_i32) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @gather_elements(
func.func @gather_elements(%arg0: !n_m_f32, %arg1: !k_m_i64) -> !k_m_f32 attributes {relax.function} {
  // CHECK: "relax.gather_elements"({{.*}}) {axis = 0 : i64} : (
  %0 = "relax.gather_elements"(%arg0, %arg1) {axis = 0 : i64} : (!n_m_f32, !k_m_i64) -> !k_m_f32
  return %0 : !k_m_f32
}

// CHECK-LABEL: func.func @gather_nd(
func.func @gather_nd(%arg0: !n_m_x4_f32, %arg1: !n_k_x1_i64) -> !n_k_x4_f32 attributes {relax.function} {
  // CHECK: "relax.gather_nd"({{.*}}) {batch_dims = 1 : i64} : (
  %0 = "relax.gather_nd"(%arg0, %arg1) {batch_dims = 1 : i64} : (!n_m_x4_f32, !n_k_x1_i64) -> !n_k_x4_f32
  return %0 : !n_k_x4_f32
}

// CHECK-LABEL: func.func @gather_nd_of_unknown_depth(
func.func @gather_nd_of_unknown_depth(%arg0: !n_m_f32, %arg1: !n_k_i64) -> tensor<*xf32> attributes {relax.function} {
  // CHECK: "relax.gather_nd"({{.*}}) {batch_dims = 0 : i64} : (
  %0 = "relax.gather_nd"(%arg0, %arg1) {batch_dims = 0 : i64} : (!n_m_f32, !n_k_i64) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @scatter_elements(
func.func @scatter_elements(%arg0: !n_m_f32, %arg1: !k_m_i64, %arg2: !k_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.scatter_elements"({{.*}}) {axis = 0 : i64, reduction = "add"} : (
  %0 = "relax.scatter_elements"(%arg0, %arg1, %arg2) {axis = 0 : i64, reduction = "add"} : (!n_m_f32, !k_m_i64, !k_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @scatter_nd(
func.func @scatter_nd(%arg0: !n_m_f32, %arg1: !k_x1_i64, %arg2: !k_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.scatter_nd"({{.*}}) {reduction = "update"} : (
  %0 = "relax.scatter_nd"(%arg0, %arg1, %arg2) {reduction = "update"} : (!n_m_f32, !k_x1_i64, !k_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @index_tensor(
func.func @index_tensor(%arg0: !n_m_k_f32, %arg1: tensor<5x1xi64>, %arg2: tensor<4xi64>) -> !x5_x4_k_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg1, %arg2 : tensor<5x1xi64>, tensor<4xi64> to tuple<tensor<5x1xi64>, tensor<4xi64>>
  // CHECK: "relax.index_tensor"({{.*}}) : (
  %1 = "relax.index_tensor"(%arg0, %0) : (!n_m_k_f32, tuple<tensor<5x1xi64>, tensor<4xi64>>) -> !x5_x4_k_f32
  return %1 : !x5_x4_k_f32
}

// CHECK-LABEL: func.func @meshgrid(
func.func @meshgrid(%arg0: !n_f32, %arg1: !m_f32) -> tuple<!m_n_f32, !m_n_f32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : !n_f32, !m_f32 to tuple<!n_f32, !m_f32>
  // CHECK: "relax.meshgrid"({{.*}}) {indexing = "xy"} : (
  %1 = "relax.meshgrid"(%0) {indexing = "xy"} : (tuple<!n_f32, !m_f32>) -> tuple<!m_n_f32, !m_n_f32>
  return %1 : tuple<!m_n_f32, !m_n_f32>
}
