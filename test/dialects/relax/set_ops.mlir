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
