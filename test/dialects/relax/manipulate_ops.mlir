// RUN: relax-opt %s | relax-opt | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#swapped = affine_map<()[s0] -> (4, s0)>
#flat = affine_map<()[s0] -> (s0 * 4)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!flat = tensor<?xf32, #relax.dims<["n"], #flat>>

// CHECK-LABEL: func.func @reshape(
func.func @reshape(%x: !n4) -> !flat attributes {relax.function} {
  // CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"()
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], #flat>>
  // CHECK-NEXT: "relax.reshape"(%{{.*}}, %[[S]])
  %0 = "relax.reshape"(%x, %s) : (!n4, !relax.shape<#relax.dims<["n"], #flat>>) -> !flat
  return %0 : !flat
}

// CHECK-LABEL: func.func @reshape_to_a_computed_shape(
func.func @reshape_to_a_computed_shape(%x: !n4, %s: !relax.shape<3 : i64>) -> tensor<?x?x?xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.reshape"{{.*}}, !relax.shape<3 : i64>) -> tensor<?x?x?xf32>
  %0 = "relax.reshape"(%x, %s) : (!n4, !relax.shape<3 : i64>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @flatten(
func.func @flatten(%x: !n4) -> !flat attributes {relax.function} {
  // CHECK-NEXT: "relax.flatten"(%{{.*}}) : ({{.*}}) -> tensor<?xf32, #relax.dims<["n"], #[[MAP:.*]]>>
  %0 = "relax.flatten"(%x) : (!n4) -> !flat
  return %0 : !flat
}

// CHECK-LABEL: func.func @permute(
func.func @permute(%x: tensor<2x3x4xi1>, %y: !n4) -> tensor<4x2x3xi1> attributes {relax.function} {
  // CHECK-NEXT: "relax.permute_dims"(%{{.*}}) {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>} : (tensor<2x3x4xi1>) -> tensor<4x2x3xi1>
  // CHECK-NEXT: "relax.permute_dims"(%{{.*}}) {axes} : ({{.*}}) -> tensor<4x?xf32
  %1 = "relax.permute_dims"(%y) {axes} : (!n4) -> tensor<4x?xf32, #relax.dims<["n"], #swapped>>
  return %0 : tensor<4x2x3xi1>
}
