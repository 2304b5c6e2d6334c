// RUN: relax-opt %s --compose-permute-dims | FileCheck %s

#abc = affine_map<()[s0, s1] -> (s0, s1, 3)>
#bca = affine_map<()[s0, s1] -> (s1, 3, s0)>
#cab = affine_map<()[s0, s1] -> (3, s0, s1)>
!X = tensor<?x?x3xf32, #relax.dims<["a", "b"], #abc>>
!Y = tensor<?x3x?xf32, #relax.dims<["a", "b"], #bca>>
!Z = tensor<3x?x?xf32, #relax.dims<["a", "b"], #cab>>

// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: %[[Z:.*]] = "relax.permute_dims"(%[[X]]) {{.*}}array<i64: 2, 0, 1>
// CHECK-NEXT: return %[[Z]]
func.func @two(%x: !X) -> !Z attributes {relax.function} {
  %y = "relax.permute_dims"(%x) {axes = array<i64: 1, 2, 0>} : (!X) -> !Y
  %z = "relax.permute_dims"(%y) {axes = array<i64: 1, 2, 0>} : (!Y) -> !Z
  return %z : !Z
}

// CHECK-LABEL: func.func @back
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: "relax.exp"(%[[X]])
func.func @back(%x: !X) -> !X attributes {relax.function} {
  %y = "relax.permute_dims"(%x) {axes = array<i64: 1, 2, 0>} : (!X) -> !Y
  %z = "relax.permute_dims"(%y) {axes = array<i64: 2, 0, 1>} : (!Y) -> !X
  %e = "relax.exp"(%z) : (!X) -> !X
  return %e : !X
}

// A result is no argument's own memory.

// CHECK-LABEL: func.func @returned
// CHECK-COUNT-2: "relax.permute_dims"
func.func @returned(%x: !X) -> !X attributes {relax.function} {
  %y = "relax.permute_dims"(%x) {axes = array<i64: 1, 2, 0>} : (!X) -> !Y
  %z = "relax.permute_dims"(%y) {axes = array<i64: 2, 0, 1>} : (!Y) -> !X
  return %z : !X
}

// What an impure call may write to stays a tensor of its own.

// CHECK-LABEL: func.func @written
// CHECK-COUNT-2: "relax.permute_dims"
func.func @written(%x: !X) -> !X attributes {relax.function} {
  %y = "relax.permute_dims"(%x) {axes = array<i64: 1, 2, 0>} : (!X) -> !Y
  %t = builtin.unrealized_conversion_cast %y : !Y to tuple<!Y>
  %c = "relax.call_packed"(%t) {func = "update"} : (tuple<!Y>) -> !relax.object
  %z = "relax.permute_dims"(%y) {axes = array<i64: 2, 0, 1>} : (!Y) -> !X
  return %z : !X
}
