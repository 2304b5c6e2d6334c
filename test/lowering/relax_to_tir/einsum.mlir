// RUN: relax-opt %s --legalize-ops | FileCheck %s

#a = #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#b = #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>
#c = #relax.dims<["m"], affine_map<()[s0] -> (s0, 5)>>
#o = #relax.dims<["n"], affine_map<()[s0] -> (s0, 5)>>

// Three operands are contracted two at a time.
// CHECK-LABEL: func.func @f(
// CHECK-COUNT-2: "relax.call_tir"
func.func @f(%a: tensor<?x?xf32, #a>, %b: tensor<?x?xf32, #b>, %c: tensor<?x5xf32, #c>) -> tensor<?x5xf32, #o> attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %a, %b, %c : tensor<?x?xf32, #a>, tensor<?x?xf32, #b>, tensor<?x5xf32, #c> to tuple<tensor<?x?xf32, #a>, tensor<?x?xf32, #b>, tensor<?x5xf32, #c>>
  %0 = "relax.einsum"(%t) {subscripts = "ij,jk,kl->il"} : (tuple<tensor<?x?xf32, #a>, tensor<?x?xf32, #b>, tensor<?x5xf32, #c>>) -> tensor<?x5xf32, #o>
  return %0 : tensor<?x5xf32, #o>
}

// CHECK-LABEL: func.func private @einsum(
// CHECK: block_name = "einsum", iter_types = ["spatial", "spatial", "reduction"]
// CHECK-LABEL: func.func private @einsum1(
// CHECK: block_name = "einsum", iter_types = ["spatial", "spatial", "reduction"]
