// RUN: relax-opt %s | relax-opt | FileCheck %s

#n = affine_map<()[s0] -> (s0)>

// Only run time knows how many distinct elements there are; match_cast gives the number a name.
// CHECK-LABEL: func.func @unique(
func.func @unique(%x: tensor<2x3xi64>) -> tensor<?xi64, #relax.dims<["k"], #n>> attributes {relax.function} {
  // CHECK-NEXT: %[[U:.*]] = "relax.unique"(%{{.*}}) : (tensor<2x3xi64>) -> tensor<?xi64>
  %0 = "relax.unique"(%x) : (tensor<2x3xi64>) -> tensor<?xi64>
  // CHECK-NEXT: "relax.match_cast"(%[[U]]) : (tensor<?xi64>) -> tensor<?xi64, #relax.dims<["k"], #{{.*}}>>
  %1 = "relax.match_cast"(%0) : (tensor<?xi64>) -> tensor<?xi64, #relax.dims<["k"], #n>>
  return %1 : tensor<?xi64, #relax.dims<["k"], #n>>
}

!n_m_i8 = tensor<?x?xi8, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_i1 = tensor<?x?xi1, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>

// CHECK-LABEL: func.func @everything_about_them(
func.func @everything_about_them(%a0: !n_m_i8) -> tuple<tensor<?x?xi8>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>> attributes {relax.function} {
  // CHECK: "relax.unique"{{.*}} -> tuple<tensor<?x?xi8>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>>
  %0 = "relax.unique"(%a0) {axis = 0 : i64, return_counts = true, return_index = true, return_inverse = true, sorted = true} : (!n_m_i8) -> tuple<tensor<?x?xi8>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>>
  return %0 : tuple<tensor<?x?xi8>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>>
}

// CHECK-LABEL: func.func @by_first_occurrence(
func.func @by_first_occurrence(%a0: tensor<*x!relax.any_dtype>) -> tuple<tensor<?x!relax.any_dtype>, tensor<?xi64>> attributes {relax.function} {
  // CHECK: "relax.unique"{{.*}} -> tuple<tensor<?x!relax.any_dtype>, tensor<?xi64>>
  %0 = "relax.unique"(%a0) {axis, return_counts = true, return_index = false, return_inverse = false, sorted = false} : (tensor<*x!relax.any_dtype>) -> tuple<tensor<?x!relax.any_dtype>, tensor<?xi64>>
  return %0 : tuple<tensor<?x!relax.any_dtype>, tensor<?xi64>>
}

// CHECK-LABEL: func.func @not_zero(
func.func @not_zero(%a0: !n_m_i1) -> tensor<?x?xi64> attributes {relax.function} {
  // CHECK: "relax.nonzero"{{.*}} -> tensor<?x?xi64>
  %0 = "relax.nonzero"(%a0) : (!n_m_i1) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64>
}
