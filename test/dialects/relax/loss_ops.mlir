// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

!n_10_f32 = tensor<?x10xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 10)>>>
!n_i64 = tensor<?xi64, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_10_m_f16 = tensor<?x10x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, 10, s0)>>>
!n_m_i32 = tensor<?x?xi32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_f16 = tensor<?x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>

// CHECK-LABEL: func.func @cross_entropy(
func.func @cross_entropy(%a0: !n_10_f32, %a1: !n_10_f32) -> tensor<f32> attributes {relax.function} {
  // CHECK: "relax.cross_entropy_with_logits"{{.*}} -> tensor<f32>
  %0 = "relax.cross_entropy_with_logits"(%a0, %a1) : (!n_10_f32, !n_10_f32) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @mean(
func.func @mean(%a0: !n_10_f32, %a1: !n_i64) -> tensor<f32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "relax.nll_loss"{{.*}} -> tensor<f32>
  %1 = "relax.nll_loss"(%a0, %a1, %0) {ignore_index = -100 : i64, reduction = "mean"} : (!n_10_f32, !n_i64, tuple<>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @each(
func.func @each(%a0: !n_10_m_f16, %a1: !n_m_i32, %a2: tensor<10xf16>) -> !n_m_f16 attributes {relax.function} {
  // CHECK: "relax.nll_loss"{{.*}} -> tensor<?x?xf16, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.nll_loss"(%a0, %a1, %a2) {ignore_index = -100 : i64, reduction = "none"} : (!n_10_m_f16, !n_m_i32, tensor<10xf16>) -> !n_m_f16
  return %0 : !n_m_f16
}
