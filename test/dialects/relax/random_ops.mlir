// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_x3_f32 = tensor<?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!b_k_f32 = tensor<?x?xf32, #relax.dims<["b", "k"], affine_map<()[s0, s1] -> (s0, s1)>>>
!b_x5_i32 = tensor<?x5xi32, #relax.dims<["b"], affine_map<()[s0] -> (s0, 5)>>>

// CHECK-LABEL: func.func @uniform(
func.func @uniform(%key: tensor<2xui64>, %x: !n_x3_f32) -> !n_x3_f32 attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
  // CHECK: "relax.random_uniform"(%arg0, %{{.*}}) {dtype = "float32", high = 3.000000e+00 : f64, low = -1.000000e+00 : f64}
  %1 = "relax.random_uniform"(%key, %0) {dtype = "float32", high = 3.0, low = -1.0} : (tensor<2xui64>, !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>) -> !n_x3_f32
  return %1 : !n_x3_f32
}

// CHECK-LABEL: func.func @normal_of_unknown_dims(
func.func @normal_of_unknown_dims(%key: tensor<2xui64>, %shape: !relax.shape<2 : i64>) -> tensor<?x?xf64> attributes {relax.function} {
  // CHECK: "relax.random_normal"(%arg0, %arg1) {dtype = "float64"
  %0 = "relax.random_normal"(%key, %shape) {dtype = "float64", mean = 0.0, scale = 1.0} : (tensor<2xui64>, !relax.shape<2 : i64>) -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}

// CHECK-LABEL: func.func @multinomial(
func.func @multinomial(%key: tensor<2xui64>, %prob: !b_k_f32) -> !b_x5_i32 attributes {relax.function} {
  // CHECK: "relax.random_multinomial"(%arg0, %arg1) {dtype = "int32", num_samples = 5 : i64}
  %0 = "relax.random_multinomial"(%key, %prob) {dtype = "int32", num_samples = 5} : (tensor<2xui64>, !b_k_f32) -> !b_x5_i32
  return %0 : !b_x5_i32
}
