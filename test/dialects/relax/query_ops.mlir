// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

!n_m_i1 = tensor<?x?xi1, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_i64 = tensor<?xi64, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @size(
func.func @size(%a0: !n_m_i1) -> tensor<i64> attributes {relax.function} {
  // CHECK: "relax.size"{{.*}} -> tensor<i64>
  %0 = "relax.size"(%a0) : (!n_m_i1) -> tensor<i64>
  return %0 : tensor<i64>
}

// CHECK-LABEL: func.func @shape_of_elements(
func.func @shape_of_elements(%a0: tensor<3xi64>) -> !relax.shape<3 : i64> attributes {relax.function} {
  // CHECK: "relax.tensor_to_shape"{{.*}} -> !relax.shape<3 : i64>
  %0 = "relax.tensor_to_shape"(%a0) : (tensor<3xi64>) -> !relax.shape<3 : i64>
  return %0 : !relax.shape<3 : i64>
}

// CHECK-LABEL: func.func @shape_of_unknown_length(
func.func @shape_of_unknown_length(%a0: !n_i64) -> !relax.shape<unit> attributes {relax.function} {
  // CHECK: "relax.tensor_to_shape"{{.*}} -> !relax.shape<unit>
  %0 = "relax.tensor_to_shape"(%a0) : (!n_i64) -> !relax.shape<unit>
  return %0 : !relax.shape<unit>
}

// CHECK-LABEL: func.func @elements_of_a_shape(
func.func @elements_of_a_shape(%a0: !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>) -> tensor<2xi64> attributes {relax.function} {
  // CHECK: "relax.shape_to_tensor"{{.*}} -> tensor<2xi64>
  %0 = "relax.shape_to_tensor"(%a0) : (!relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
