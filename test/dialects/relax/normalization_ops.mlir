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

!n_m_f16 = tensor<?x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!m_f16 = tensor<?xf16, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
!n_3_h_w_f32 = tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 3, s0, s2)>>>
!n_c_h_f32 = tensor<?x?x?xf32, #relax.dims<["c", "h", "n"], affine_map<()[s0, s1, s2] -> (s2, s0, s1)>>>
!c_f32 = tensor<?xf32, #relax.dims<["c"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @root_mean_square(
func.func @root_mean_square(%a0: !n_m_f16, %a1: !m_f16) -> !n_m_f16 attributes {relax.function} {
  // CHECK: "relax.rms_norm"{{.*}} -> tensor<?x?xf16, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.rms_norm"(%a0, %a1) {axes = array<i64: -1>, epsilon = 9.9999999999999995E-7 : f64} : (!n_m_f16, !m_f16) -> !n_m_f16
  return %0 : !n_m_f16
}

// CHECK-LABEL: func.func @instances(
func.func @instances(%a0: !n_3_h_w_f32, %a1: tensor<3xf32>, %a2: tensor<3xf32>) -> !n_3_h_w_f32 attributes {relax.function} {
  // CHECK: "relax.instance_norm"{{.*}} -> tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], #{{.*}}>>
  %0 = "relax.instance_norm"(%a0, %a1, %a2) {axes = array<i64: 2, 3>, center = true, channel_axis = 1 : i64, epsilon = 1.000000e-05 : f64, scale = true} : (!n_3_h_w_f32, tensor<3xf32>, tensor<3xf32>) -> !n_3_h_w_f32
  return %0 : !n_3_h_w_f32
}

// CHECK-LABEL: func.func @groups(
func.func @groups(%a0: !n_c_h_f32, %a1: !c_f32, %a2: !c_f32) -> !n_c_h_f32 attributes {relax.function} {
  // CHECK: "relax.group_norm"{{.*}} -> tensor<?x?x?xf32, #relax.dims<["c", "h", "n"], #{{.*}}>>
  %0 = "relax.group_norm"(%a0, %a1, %a2) {axes = array<i64: 2>, center = true, channel_axis = 1 : i64, epsilon = 1.000000e-05 : f64, num_groups = 4 : i64, scale = true} : (!n_c_h_f32, !c_f32, !c_f32) -> !n_c_h_f32
  return %0 : !n_c_h_f32
}
