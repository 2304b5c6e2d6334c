// RUN: relax-opt %s -legalize-ops | FileCheck %s

!n_h_w = tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 3, s0, s2)>>>
!n_8_9 = tensor<?x3x8x9xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3, 8, 9)>>>
!s_8_9 = !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>

func.func @linear(%x: !n_h_w) -> !n_8_9 attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !s_8_9
  %0 = "relax.resize2d"(%x, %s) : (!n_h_w, !s_8_9) -> !n_8_9
  return %0 : !n_8_9
}

func.func @nearest(%x: tensor<1x3x4x5xui8>) -> tensor<1x3x8x9xui8> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !s_8_9
  %0 = "relax.resize2d"(%x, %s) {method = "nearest_neighbor"} : (tensor<1x3x4x5xui8>, !s_8_9) -> tensor<1x3x8x9xui8>
  return %0 : tensor<1x3x8x9xui8>
}

func.func @unknown(%x: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !s_8_9
  %0 = "relax.resize2d"(%x, %s) {roi = array<f64: 0.0, 0.5, 1.0, 1.0>} : (tensor<?x?x?x?xf32>, !s_8_9) -> tensor<?x?x?x?xf32>
  return %0 : tensor<?x?x?x?xf32>
}

// An axis that may be empty is refused where pixels are wanted of it.
// CHECK-LABEL: func.func @linear(
// CHECK-COUNT-2: func = "vm.op.check_source"
// CHECK: "relax.call_tir"({{.*}}) {callee = @resize2d}
// CHECK-LABEL: func.func @nearest(
// CHECK-NOT: check_source
// CHECK: "relax.call_tir"({{.*}}) {callee = @resize2d1}
// CHECK-LABEL: func.func @unknown(
// CHECK: func = "vm.op.resize2d", static_args = [array<f64: 0.000000e+00, 5.000000e-01, 1.000000e+00, 1.000000e+00>, "NCHW", "linear", "half_pixel", "round", -7.500000e-01, 0, 0.000000e+00, unit]

// Tables of pixels and weights for each axis, then the height, then the width.
// CHECK-LABEL: func.func private @resize2d(
// CHECK: tir.name = "HPixel0"
// CHECK: tir.name = "HPixel1"
// CHECK: tir.name = "HWeight0"
// CHECK: tir.name = "HWeight1"
// CHECK: tir.name = "WPixel0"
// CHECK: tir.name = "WWeight1"
// CHECK: tir.name = "Rows"
// CHECK: block_name = "rows"
// CHECK: block_name = "resize2d"

// CHECK-LABEL: func.func private @resize2d1(
// CHECK: tir.name = "HPixel0"
// CHECK-NOT: Weight
// CHECK-NOT: tir.name = "Rows"
// CHECK: block_name = "resize2d"
