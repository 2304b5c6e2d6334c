// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_h_w = tensor<?x3x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 3, s0, s2)>>>
!n_8_9 = tensor<?x3x8x9xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3, 8, 9)>>>
!n_last = tensor<?x?x?x4xui8, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, s0, s2, 4)>>>
!n_twice = tensor<?x?x?x4xf32, #relax.dims<["h", "n"], affine_map<()[s0, s1] -> (s1, s0 * 2, s0 * 2, 4)>>>
!s_8_9 = !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>
!s_twice = !relax.shape<#relax.dims<["h"], affine_map<()[s0] -> (s0 * 2)>>>

// CHECK-LABEL: func.func @defaults(
func.func @defaults(%x: !n_h_w) -> !n_8_9 attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !s_8_9
  // CHECK: "relax.resize2d"({{.*}}, {{.*}}) : (
  %0 = "relax.resize2d"(%x, %s) : (!n_h_w, !s_8_9) -> !n_8_9
  return %0 : !n_8_9
}

// One number is for both axes.
// CHECK-LABEL: func.func @both(
func.func @both(%x: !n_last) -> !n_twice attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !s_twice
  // CHECK: "relax.resize2d"({{.*}}, {{.*}}) {layout = "NHWC", method = "cubic", out_dtype = "float32"} : (
  %0 = "relax.resize2d"(%x, %s) {layout = "NHWC", method = "cubic", out_dtype = "float32"} : (!n_last, !s_twice) -> !n_twice
  return %0 : !n_twice
}

// CHECK-LABEL: func.func @unknown(
func.func @unknown(%x: tensor<*x!relax.any_dtype>, %s: !relax.shape<unit>) -> tensor<?x?x?x?x!relax.any_dtype> attributes {relax.function} {
  // CHECK: "relax.resize2d"({{.*}}, {{.*}}) {coordinate_transformation_mode = "tf_crop_and_resize", roi = array<f64: 0.000000e+00, 2.500000e-01, 1.000000e+00, 7.500000e-01>} : (
  %0 = "relax.resize2d"(%x, %s) {coordinate_transformation_mode = "tf_crop_and_resize", roi = array<f64: 0.0, 0.25, 1.0, 0.75>} : (tensor<*x!relax.any_dtype>, !relax.shape<unit>) -> tensor<?x?x?x?x!relax.any_dtype>
  return %0 : tensor<?x?x?x?x!relax.any_dtype>
}
