// RUN: relax-opt %s -canonicalize -cse | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
!n = tensor<?xf32, #relax.dims<["n"], #n>>

// CHECK-LABEL: func.func @dead_pure_operations_go(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32
func.func @dead_pure_operations_go(%x: !n) -> !n attributes {relax.function} {
  // CHECK-NEXT: return %[[X]]
  %s = "relax.shape_of"(%x) : (!n) -> !relax.shape<#relax.dims<["n"], #n>>
  %c = "relax.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "relax.add"(%x, %c) : (!n, tensor<1xf32>) -> !n
  %t = builtin.unrealized_conversion_cast %0 : !n to tuple<!n>
  %1 = "relax.call_tir"(%s, %t) {callee = @f} : (!relax.shape<#relax.dims<["n"], #n>>, tuple<!n>) -> !n
  %2 = "relax.call_pure_packed"(%t) {func = "lib.f"} : (tuple<!n>) -> !relax.object
  return %x : !n
}

// CHECK-LABEL: func.func @equal_operations_merge(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32
func.func @equal_operations_merge(%x: !n) -> !n attributes {relax.function} {
  // CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[X]])
  // CHECK-NEXT: %[[S:.*]] = "relax.add"(%[[E]], %[[E]])
  // CHECK-NEXT: return %[[S]]
  %0 = "relax.exp"(%x) : (!n) -> !n
  %1 = "relax.exp"(%x) : (!n) -> !n
  %2 = "relax.add"(%0, %1) : (!n, !n) -> !n
  return %2 : !n
}

// CHECK-LABEL: func.func @other_attributes_do_not_merge(
func.func @other_attributes_do_not_merge(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {relax.function} {
  // CHECK: "relax.softmax"(%{{.*}}) {axis = 0 : i64}
  // CHECK: "relax.softmax"(%{{.*}}) {axis = 1 : i64}
  %0 = "relax.softmax"(%x) {axis = 0 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "relax.add"(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @inside_dataflow(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32
func.func @inside_dataflow(%x: !n) -> !n attributes {relax.function} {
  // CHECK-NEXT: "relax.dataflow"() ({
  // CHECK-NEXT:   %[[E:.*]] = "relax.exp"(%[[X]])
  // CHECK-NEXT:   "relax.output"(%[[E]])
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (!n) -> !n
    %2 = "relax.sin"(%1) : (!n) -> !n
    "relax.output"(%1) : (!n) -> ()
  }) : () -> !n
  return %0 : !n
}

// A match_cast checks and binds, a packed call may print: neither goes, nor do two become one.
// CHECK-LABEL: func.func @effects_stay(
func.func @effects_stay(%x: tensor<*xf32>) attributes {relax.function} {
  // CHECK-NEXT: "relax.match_cast"
  // CHECK-NEXT: "relax.match_cast"
  %0 = "relax.match_cast"(%x) : (tensor<*xf32>) -> !n
  %1 = "relax.match_cast"(%x) : (tensor<*xf32>) -> !n
  // CHECK: "relax.call_packed"
  // CHECK-NEXT: "relax.call_packed"
  %t = builtin.unrealized_conversion_cast %x : tensor<*xf32> to tuple<tensor<*xf32>>
  %2 = "relax.call_packed"(%t) {func = "lib.print"} : (tuple<tensor<*xf32>>) -> !relax.object
  %3 = "relax.call_packed"(%t) {func = "lib.print"} : (tuple<tensor<*xf32>>) -> !relax.object
  // CHECK-NEXT: "relax.call"
  %4 = "relax.call"(%t) {callee = @effects_stay} : (tuple<tensor<*xf32>>) -> !relax.object
  // CHECK-NEXT: return
  return
}
