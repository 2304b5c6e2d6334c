// RUN: relax-opt %s | relax-opt | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#swapped = affine_map<()[s0] -> (4, s0)>
#flat = affine_map<()[s0] -> (s0 * 4)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!flat = tensor<?xf32, #relax.dims<["n"], #flat>>
!n_m_x4_f32 = tensor<?x?x4xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 4)>>>
!n_m_times_4_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0 * 4)>>>
!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!x1_n_m_x1_f32 = tensor<1x?x?x1xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (1, s1, s0, 1)>>>
!x1_n_x1_f32 = tensor<1x?x1xf32, #relax.dims<["n"], affine_map<()[s0] -> (1, s0, 1)>>>
!n_x1_f32 = tensor<?x1xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 1)>>>
!x1_m_f32 = tensor<1x?xf32, #relax.dims<["m"], affine_map<()[s0] -> (1, s0)>>>
!x4_x2_m_f32 = tensor<4x2x?xf32, #relax.dims<["m"], affine_map<()[s0] -> (4, 2, s0)>>>

// CHECK-LABEL: func.func @reshape(
func.func @reshape(%x: !n4) -> !flat attributes {relax.function} {
  // CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"()
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], #flat>>
  // CHECK-NEXT: "relax.reshape"(%{{.*}}, %[[S]])
  %0 = "relax.reshape"(%x, %s) : (!n4, !relax.shape<#relax.dims<["n"], #flat>>) -> !flat
  return %0 : !flat
}

// CHECK-LABEL: func.func @reshape_to_a_computed_shape(
func.func @reshape_to_a_computed_shape(%x: !n4, %s: !relax.shape<3 : i64>) -> tensor<?x?x?xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.reshape"{{.*}}, !relax.shape<3 : i64>) -> tensor<?x?x?xf32>
  %0 = "relax.reshape"(%x, %s) : (!n4, !relax.shape<3 : i64>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @flatten(
func.func @flatten(%x: !n4) -> !flat attributes {relax.function} {
  // CHECK-NEXT: "relax.flatten"(%{{.*}}) : ({{.*}}) -> tensor<?xf32, #relax.dims<["n"], #[[MAP:.*]]>>
  %0 = "relax.flatten"(%x) : (!n4) -> !flat
  return %0 : !flat
}

// CHECK-LABEL: func.func @permute(
func.func @permute(%x: tensor<2x3x4xi1>, %y: !n4) -> tensor<4x2x3xi1> attributes {relax.function} {
  // CHECK-NEXT: "relax.permute_dims"(%{{.*}}) {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
  // CHECK-NEXT: "relax.permute_dims"(%{{.*}}) {axes} : ({{.*}}) -> tensor<4x?xf32
  %1 = "relax.permute_dims"(%y) {axes} : (!n4) -> tensor<4x?xf32, #relax.dims<["n"], #swapped>>
  return %0 : tensor<4x2x3xi1>
}

// CHECK-LABEL: func.func @reshape_to_a_pattern(
func.func @reshape_to_a_pattern(%arg0: !n_m_x4_f32) -> !n_m_times_4_f32 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0 * 4)>>>
  // CHECK: "relax.reshape"({{.*}}) : (
  %1 = "relax.reshape"(%arg0, %0) : (!n_m_x4_f32, !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0 * 4)>>>) -> !n_m_times_4_f32
  return %1 : !n_m_times_4_f32
}

// CHECK-LABEL: func.func @reshape_of_unknown_shape_to_a_pattern(
func.func @reshape_of_unknown_shape_to_a_pattern(%arg0: tensor<*xf32>) -> tensor<?x?xf32> attributes {relax.function} {
  %0 = "relax.resolve_shape"(%arg0) {pattern = array<i64: -1, 4>} : (tensor<*xf32>) -> !relax.shape<2 : i64>
  // CHECK: "relax.reshape"({{.*}}) : (
  %1 = "relax.reshape"(%arg0, %0) : (tensor<*xf32>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @expand_dims(
func.func @expand_dims(%arg0: !n_m_f32) -> !x1_n_m_x1_f32 attributes {relax.function} {
  // CHECK: "relax.expand_dims"({{.*}}) {axis = array<i64: 0, -1>} : (
  %0 = "relax.expand_dims"(%arg0) {axis = array<i64: 0, -1>} : (!n_m_f32) -> !x1_n_m_x1_f32
  return %0 : !x1_n_m_x1_f32
}

// CHECK-LABEL: func.func @squeeze(
func.func @squeeze(%arg0: !x1_n_x1_f32) -> !n_x1_f32 attributes {relax.function} {
  // CHECK: "relax.squeeze"({{.*}}) {axis = array<i64: 0>} : (
  %0 = "relax.squeeze"(%arg0) {axis = array<i64: 0>} : (!x1_n_x1_f32) -> !n_x1_f32
  return %0 : !n_x1_f32
}

// CHECK-LABEL: func.func @squeeze_all(
func.func @squeeze_all(%arg0: tensor<1x4x1xf32>) -> tensor<4xf32> attributes {relax.function} {
  // CHECK: "relax.squeeze"({{.*}}) {axis} : (
  %0 = "relax.squeeze"(%arg0) {axis} : (tensor<1x4x1xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @squeeze_of_unknown_length(
func.func @squeeze_of_unknown_length(%arg0: !n_x1_f32) -> tensor<*xf32> attributes {relax.function} {
  // CHECK: "relax.squeeze"({{.*}}) {axis} : (
  %0 = "relax.squeeze"(%arg0) {axis} : (!n_x1_f32) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @broadcast_to(
func.func @broadcast_to(%arg0: !x1_m_f32) -> !x4_x2_m_f32 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (4, 2, s0)>>>
  // CHECK: "relax.broadcast_to"({{.*}}) : (
  %1 = "relax.broadcast_to"(%arg0, %0) : (!x1_m_f32, !relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (4, 2, s0)>>>) -> !x4_x2_m_f32
  return %1 : !x4_x2_m_f32
}

// CHECK-LABEL: func.func @broadcast_to_a_computed_shape(
func.func @broadcast_to_a_computed_shape(%arg0: tensor<*xf32>) -> tensor<*xf32> attributes {relax.function} {
  %0 = "relax.shape_of"(%arg0) : (tensor<*xf32>) -> !relax.shape<unit>
  // CHECK: "relax.broadcast_to"({{.*}}) : (
  %1 = "relax.broadcast_to"(%arg0, %0) : (tensor<*xf32>, !relax.shape<unit>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}
