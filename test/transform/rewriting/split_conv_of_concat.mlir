// RUN: relax-opt %s --split-conv-of-concat | FileCheck %s

!A = tensor<1x16x3x5xf32>
!B = tensor<1x24x3x5xf32>
!P = tuple<!A, !B>
!X = tensor<1x40x3x5xf32>
!W = tensor<8x40x3x3xf32>
!Z = tensor<1x8x1x3xf32>

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[A:[^:]*]]: tensor<1x16x3x5xf32>, %[[B:[^:]*]]: tensor<1x24x3x5xf32>)
// CHECK-NOT: "relax.concat"
// CHECK: %[[W:.*]] = "relax.constant"
// CHECK: %[[V:.*]] = "relax.strided_slice"(%[[W]]
// CHECK-NEXT: %[[F:.*]] = "relax.conv2d"(%[[A]], %[[V]])
// CHECK: %[[U:.*]] = "relax.strided_slice"(%[[W]]
// CHECK-NEXT: %[[G:.*]] = "relax.conv2d"(%[[B]], %[[U]])
// CHECK-NEXT: %[[Z:.*]] = "relax.add"(%[[G]], %[[F]])
// CHECK-NEXT: return %[[Z]]
func.func @sum(%a: !A, %b: !B) -> !Z attributes {relax.function} {
  %p = builtin.unrealized_conversion_cast %a, %b : !A, !B to !P
  %x = "relax.concat"(%p) {axis = 1 : i64} : (!P) -> !X
  %w = "relax.constant"() {value = dense<1.0> : !W} : () -> !W
  %z = "relax.conv2d"(%x, %w) : (!X, !W) -> !Z
  return %z : !Z
}

// A weight that is not known would be cut at each call.

// CHECK-LABEL: func.func @kept
// CHECK: "relax.concat"
// CHECK-NEXT: "relax.conv2d"
func.func @kept(%a: !A, %b: !B, %w: !W) -> !Z attributes {relax.function} {
  %p = builtin.unrealized_conversion_cast %a, %b : !A, !B to !P
  %x = "relax.concat"(%p) {axis = 1 : i64} : (!P) -> !X
  %z = "relax.conv2d"(%x, %w) : (!X, !W) -> !Z
  return %z : !Z
}
