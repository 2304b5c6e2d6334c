// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

!b_n_8_64_f16 = tensor<?x?x8x64xf16, #relax.dims<["b", "n"], affine_map<()[s0, s1] -> (s0, s1, 8, 64)>>>
!b_m_8_64_f16 = tensor<?x?x8x64xf16, #relax.dims<["b", "m"], affine_map<()[s0, s1] -> (s0, s1, 8, 64)>>>
!b_m_8_32_f16 = tensor<?x?x8x32xf16, #relax.dims<["b", "m"], affine_map<()[s0, s1] -> (s0, s1, 8, 32)>>>
!b_n_8_32_f16 = tensor<?x?x8x32xf16, #relax.dims<["b", "n"], affine_map<()[s0, s1] -> (s0, s1, 8, 32)>>>
!t2_n_8_64_f32 = tensor<2x?x8x64xf32, #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 8, 64)>>>
!t2_m_8_64_f32 = tensor<2x?x8x64xf32, #relax.dims<["m"], affine_map<()[s0] -> (2, s0, 8, 64)>>>
!t2_1_n_m_f32 = tensor<2x1x?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (2, 1, s1, s0)>>>
!b_n_8_64_f32 = tensor<?x?x8x64xf32, #relax.dims<["b", "n"], affine_map<()[s0, s1] -> (s0, s1, 8, 64)>>>

// CHECK-LABEL: func.func @plain(
func.func @plain(%a0: !b_n_8_64_f16, %a1: !b_m_8_64_f16, %a2: !b_m_8_32_f16) -> !b_n_8_32_f16 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "relax.attention"{{.*}} -> tensor<?x?x8x32xf16, #relax.dims<["b", "n"], #{{.*}}>>
  %1 = "relax.attention"(%a0, %a1, %a2, %0, %0) {causal_mask, scale, window_size} : (!b_n_8_64_f16, !b_m_8_64_f16, !b_m_8_32_f16, tuple<>, tuple<>) -> !b_n_8_32_f16
  return %1 : !b_n_8_32_f16
}

// A bias broadcasts to batch, heads, queries and keys.
// CHECK-LABEL: func.func @bias(
func.func @bias(%a0: !t2_n_8_64_f32, %a1: !t2_m_8_64_f32, %a2: !t2_m_8_64_f32, %a3: !t2_1_n_m_f32) -> !t2_n_8_64_f32 attributes {relax.function} {
  // CHECK: "relax.attention"{{.*}} -> tensor<2x?x8x64xf32, #relax.dims<["n"], #{{.*}}>>
  %no_mask = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%a0, %a1, %a2, %a3, %no_mask) {causal_mask, scale = 5.000000e-01 : f64, window_size} : (!t2_n_8_64_f32, !t2_m_8_64_f32, !t2_m_8_64_f32, !t2_1_n_m_f32, tuple<>) -> !t2_n_8_64_f32
  return %0 : !t2_n_8_64_f32
}

// CHECK-LABEL: func.func @causal(
func.func @causal(%a0: !b_n_8_64_f32, %a1: !b_n_8_64_f32, %a2: !b_n_8_64_f32) -> !b_n_8_64_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "relax.attention"{{.*}} -> tensor<?x?x8x64xf32, #relax.dims<["b", "n"], #{{.*}}>>
  %1 = "relax.attention"(%a0, %a1, %a2, %0, %0) {causal_mask = "BottomRight", scale, window_size = 16 : i64} : (!b_n_8_64_f32, !b_n_8_64_f32, !b_n_8_64_f32, tuple<>, tuple<>) -> !b_n_8_64_f32
  return %1 : !b_n_8_64_f32
}

// CHECK-LABEL: func.func @unknown(
func.func @unknown(%a0: tensor<*x!relax.any_dtype>, %a1: tensor<*x!relax.any_dtype>, %a2: tensor<*x!relax.any_dtype>) -> tensor<?x?x?x?x!relax.any_dtype> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "relax.attention"{{.*}} -> tensor<?x?x?x?x!relax.any_dtype>
  %1 = "relax.attention"(%a0, %a1, %a2, %0, %0) {causal_mask, scale, window_size} : (tensor<*x!relax.any_dtype>, tensor<*x!relax.any_dtype>, tensor<*x!relax.any_dtype>, tuple<>, tuple<>) -> tensor<?x?x?x?x!relax.any_dtype>
  return %1 : tensor<?x?x?x?x!relax.any_dtype>
}
