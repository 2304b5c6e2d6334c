// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_m_f32 = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!k_plus_n_m_f32 = tensor<?x?xf32, #relax.dims<["k", "m", "n"], affine_map<()[s0, s1, s2] -> (s0 + s2, s1)>>>
!k_x3_f32 = tensor<?x3xf32, #relax.dims<["k"], affine_map<()[s0] -> (s0, 3)>>>
!k_plus_n_x3_f32 = tensor<?x3xf32, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s0 + s1, 3)>>>
!n_m_x2_f32 = tensor<?x?x2xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 2)>>>
!n_times_2_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1 * 2, s0)>>>
!n_first_half_f32 = tensor<?x?xf32, #relax.dims<["T.min(((m + 1) // 2), m)", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_x9_f32 = tensor<?x9xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 9)>>>
!n_x2_f32 = tensor<?x2xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 2)>>>
!n_x3_f32 = tensor<?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!n_x4_f32 = tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>
!n_but_first_m_f32 = tensor<?x?xf32, #relax.dims<["T.min(1, n)", "m", "n"], affine_map<()[s0, s1, s2] -> (-s0 + s2, s1)>>>
!n_x5_f32 = tensor<?x5xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 5)>>>

// CHECK-LABEL: func.func @concat(
func.func @concat(%arg0: !n_m_f32, %arg1: !k_m_f32) -> !k_plus_n_m_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : !n_m_f32, !k_m_f32 to tuple<!n_m_f32, !k_m_f32>
  // CHECK: "relax.concat"({{.*}}) {axis = 0 : i64} : (
  %1 = "relax.concat"(%0) {axis = 0 : i64} : (tuple<!n_m_f32, !k_m_f32>) -> !k_plus_n_m_f32
  return %1 : !k_plus_n_m_f32
}

// CHECK-LABEL: func.func @concat_of_vectors(
func.func @concat_of_vectors(%arg0: tensor<2xf32>, %arg1: tensor<3xf32>) -> tensor<5xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : tensor<2xf32>, tensor<3xf32> to tuple<tensor<2xf32>, tensor<3xf32>>
  // CHECK: "relax.concat"({{.*}}) {axis} : (
  %1 = "relax.concat"(%0) {axis} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}

// CHECK-LABEL: func.func @concat_of_unknown_shapes(
func.func @concat_of_unknown_shapes(%arg0: !n_m_f32, %arg1: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : !n_m_f32, tensor<?x?xf32> to tuple<!n_m_f32, tensor<?x?xf32>>
  // CHECK: "relax.concat"({{.*}}) {axis = 1 : i64} : (
  %1 = "relax.concat"(%0) {axis = 1 : i64} : (tuple<!n_m_f32, tensor<?x?xf32>>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @concat_of_what_may_differ(
func.func @concat_of_what_may_differ(%arg0: !n_m_f32, %arg1: !k_x3_f32) -> !k_plus_n_x3_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : !n_m_f32, !k_x3_f32 to tuple<!n_m_f32, !k_x3_f32>
  // CHECK: "relax.concat"({{.*}}) {axis = 0 : i64} : (
  %1 = "relax.concat"(%0) {axis = 0 : i64} : (tuple<!n_m_f32, !k_x3_f32>) -> !k_plus_n_x3_f32
  return %1 : !k_plus_n_x3_f32
}

// CHECK-LABEL: func.func @stack(
func.func @stack(%arg0: !n_m_f32, %arg1: !n_m_f32) -> !n_m_x2_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %arg0, %arg1 : !n_m_f32, !n_m_f32 to tuple<!n_m_f32, !n_m_f32>
  // CHECK: "relax.stack"({{.*}}) {axis = -1 : i64} : (
  %1 = "relax.stack"(%0) {axis = -1 : i64} : (tuple<!n_m_f32, !n_m_f32>) -> !n_m_x2_f32
  return %1 : !n_m_x2_f32
}

// CHECK-LABEL: func.func @split(
func.func @split(%arg0: !n_times_2_m_f32) -> tuple<!n_m_f32, !n_m_f32> attributes {relax.function} {
  // CHECK: "relax.split"({{.*}}) {axis = 0 : i64, indices_or_sections = 2 : i64} : (
  %0 = "relax.split"(%arg0) {axis = 0 : i64, indices_or_sections = 2 : i64} : (!n_times_2_m_f32) -> tuple<!n_m_f32, !n_m_f32>
  return %0 : tuple<!n_m_f32, !n_m_f32>
}

// CHECK-LABEL: func.func @split_of_unknown_size(
func.func @split_of_unknown_size(%arg0: !n_m_f32) -> tuple<!n_first_half_f32, tensor<?x?xf32, #relax.dims<["T.min(((m + 1) // 2), m)", "m", "n"], affine_map<()[s0, s1, s2] -> (s2, -s0 + s1)>>>> attributes {relax.function} {
  // CHECK: "relax.split"({{.*}}) {axis = 1 : i64, indices_or_sections = 2 : i64} : (
  %0 = "relax.split"(%arg0) {axis = 1 : i64, indices_or_sections = 2 : i64} : (!n_m_f32) -> tuple<!n_first_half_f32, tensor<?x?xf32, #relax.dims<["T.min(((m + 1) // 2), m)", "m", "n"], affine_map<()[s0, s1, s2] -> (s2, -s0 + s1)>>>>
  return %0 : tuple<!n_first_half_f32, tensor<?x?xf32, #relax.dims<["T.min(((m + 1) // 2), m)", "m", "n"], affine_map<()[s0, s1, s2] -> (s2, -s0 + s1)>>>>
}

// CHECK-LABEL: func.func @split_at_indices(
func.func @split_at_indices(%arg0: !n_x9_f32) -> tuple<!n_x2_f32, !n_x3_f32, !n_x4_f32> attributes {relax.function} {
  // CHECK: "relax.split"({{.*}}) {axis = 1 : i64, indices_or_sections = array<i64: 2, 5>} : (
  %0 = "relax.split"(%arg0) {axis = 1 : i64, indices_or_sections = array<i64: 2, 5>} : (!n_x9_f32) -> tuple<!n_x2_f32, !n_x3_f32, !n_x4_f32>
  return %0 : tuple<!n_x2_f32, !n_x3_f32, !n_x4_f32>
}

// CHECK-LABEL: func.func @split_of_unknown_rank(
func.func @split_of_unknown_rank(%arg0: tensor<*xf32>) -> tuple<tensor<*xf32>, tensor<*xf32>, tensor<*xf32>> attributes {relax.function} {
  // CHECK: "relax.split"({{.*}}) {axis = 0 : i64, indices_or_sections = 3 : i64} : (
  %0 = "relax.split"(%arg0) {axis = 0 : i64, indices_or_sections = 3 : i64} : (tensor<*xf32>) -> tuple<tensor<*xf32>, tensor<*xf32>, tensor<*xf32>>
  return %0 : tuple<tensor<*xf32>, tensor<*xf32>, tensor<*xf32>>
}

// CHECK-LABEL: func.func @strided_slice(
func.func @strided_slice(%arg0: !n_m_f32) -> !n_but_first_m_f32 attributes {relax.function} {
  // CHECK: "relax.strided_slice"({{.*}}) {assume_inbound = false, axes = array<i64: 0>, begin = array<i64: 1>, end = #relax.dims<["n"], #map{{[0-9]*}}>, strides} : (
  %0 = "relax.strided_slice"(%arg0) {assume_inbound = false, axes = array<i64: 0>, begin = array<i64: 1>, end = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>, strides} : (!n_m_f32) -> !n_but_first_m_f32
  return %0 : !n_but_first_m_f32
}

// CHECK-LABEL: func.func @strided_slice_in_steps(
func.func @strided_slice_in_steps(%arg0: !n_x9_f32) -> !n_x5_f32 attributes {relax.function} {
  // CHECK: "relax.strided_slice"({{.*}}) {assume_inbound = false, axes = array<i64: 1>, begin = array<i64: -1>, end = array<i64: -9223372036854775808>, strides = array<i64: -2>} : (
  %0 = "relax.strided_slice"(%arg0) {assume_inbound = false, axes = array<i64: 1>, begin = array<i64: -1>, end = array<i64: -9223372036854775808>, strides = array<i64: -2>} : (!n_x9_f32) -> !n_x5_f32
  return %0 : !n_x5_f32
}

// CHECK-LABEL: func.func @strided_slice_of_unknown_shape(
func.func @strided_slice_of_unknown_shape(%arg0: tensor<?x?xi8>) -> tensor<?x?xi8> attributes {relax.function} {
  // CHECK: "relax.strided_slice"({{.*}}) {assume_inbound = false, axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 4>, strides} : (
  %0 = "relax.strided_slice"(%arg0) {assume_inbound = false, axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 4>, strides} : (tensor<?x?xi8>) -> tensor<?x?xi8>
  return %0 : tensor<?x?xi8>
}

// CHECK-LABEL: func.func @dynamic_strided_slice(
func.func @dynamic_strided_slice(%arg0: !n_m_f32, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>, %arg3: tensor<2xi64>) -> tensor<?x?xf32> attributes {relax.function} {
  // CHECK: "relax.dynamic_strided_slice"({{.*}}) : (
  %0 = "relax.dynamic_strided_slice"(%arg0, %arg1, %arg2, %arg3) : (!n_m_f32, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
