// RUN: relax-opt %s --legalize-ops | FileCheck %s

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#mn = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0, s1)>>
#k2 = #relax.dims<["k"], affine_map<()[s0] -> (s0, 2)>>
#flat = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1)>>

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[CYCLE:.*]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>

func.func @f(%x: tensor<?x?xf32, #nm>, %z: tensor<2x3x4xi1>) -> tuple<> attributes {relax.function} {
  %0 = "relax.flatten"(%x) : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #flat>
  %1 = "relax.permute_dims"(%x) {axes = unit} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #mn>
  %2 = "relax.permute_dims"(%z) {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
  %s = "relax.shape_expr"() : () -> !relax.shape<#mn>
  %3 = "relax.reshape"(%x, %s) : (tensor<?x?xf32, #nm>, !relax.shape<#mn>) -> tensor<?x?xf32, #mn>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// Whether there are as many elements is asserted before a kernel that trusts it.
// CHECK-LABEL: func.func @asserted(
// CHECK: %[[COUNT:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"],
// CHECK-NEXT: "relax.match_cast"(%[[COUNT]]) {relax.checked = "number of elements of the reshape to (k, 2)"} : {{.*}} -> !relax.shape<#relax.dims<["k"],
// CHECK: "relax.call_tir"
func.func @asserted(%x: tensor<?x?xf32, #nm>, %s: !relax.shape<#k2>) -> tensor<?x2xf32, #k2> attributes {relax.function} {
  %0 = "relax.reshape"(%x, %s) : (tensor<?x?xf32, #nm>, !relax.shape<#k2>) -> tensor<?x2xf32, #k2>
  return %0 : tensor<?x2xf32, #k2>
}

// Reshapes copy in linear order: a view would show later updates of the operand.
// CHECK-LABEL: func.func private @flatten(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32> {{.*}}, %[[OUT:[a-z0-9]+]]: memref<?xf32>
// CHECK: %[[FA:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [%{{.*}}], strides: [1]
// CHECK: %[[FO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK: "tir.reads"(%[[FA]]) {map = #[[ID]]}
// CHECK-NEXT: "tir.writes"(%[[FO]]) {map = #[[ID]]}
// CHECK: block_name = "flatten", iter_types = ["spatial"]

// CHECK-LABEL: func.func private @permute_dims(
// CHECK: "tir.reads"(%{{.*}}) {map = #[[SWAP]]}
// CHECK: block_name = "permute_dims", iter_types = ["spatial", "spatial"]

// CHECK-LABEL: func.func private @permute_dims1(
// CHECK: "tir.reads"(%{{.*}}) {map = #[[CYCLE]]}

// CHECK-LABEL: func.func private @reshape(
// CHECK: block_name = "reshape", iter_types = ["spatial"]
