// RUN: relax-opt %s --simplify-known-statistics | FileCheck %s
// RUN: relax-opt %s --simplify-known-statistics --fold-constant | FileCheck %s --check-prefix=FOLD

!X = tensor<2x3x4xf32>
!P = tensor<3xf32>
!B = tuple<!X, !P, !P>

// One multiplication and one addition are left when constants are folded.

// CHECK-LABEL: func.func @known
// CHECK: "relax.rsqrt"
// CHECK-NOT: "relax.batch_norm"
// FOLD-LABEL: func.func @known
// FOLD-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// FOLD-NOT: rsqrt
// FOLD: %[[S:.*]] = "relax.constant"() {value = {{.*}} : tensor<1x3x1xf32>}
// FOLD: %[[XS:.*]] = "relax.multiply"(%[[X]], %[[S]])
// FOLD: %[[T:.*]] = "relax.constant"() {value = {{.*}} : tensor<1x3x1xf32>}
// FOLD-NEXT: %[[Y:.*]] = "relax.add"(%[[XS]], %[[T]])
// FOLD-NEXT: return %[[Y]]
func.func @known(%x: !X) -> !X attributes {relax.function} {
  %g = "relax.constant"() {value = dense<[1.0, 2.0, 3.0]> : !P} : () -> !P
  %b = "relax.constant"() {value = dense<3.0> : !P} : () -> !P
  %m = "relax.constant"() {value = dense<2.0> : !P} : () -> !P
  %v = "relax.constant"() {value = dense<3.0> : !P} : () -> !P
  %r = "relax.batch_norm"(%x, %g, %b, %m, %v) {axis = 1, epsilon = 1.0 : f64, training = false} : (!X, !P, !P, !P, !P) -> !B
  %y = "relax.tuple_get_item"(%r) {index = 0} : (!B) -> !X
  return %y : !X
}

// In training the statistics are the images'.

// CHECK-LABEL: func.func @training
// CHECK: "relax.batch_norm"
func.func @training(%x: !X) -> !X attributes {relax.function} {
  %p = "relax.constant"() {value = dense<[1.0, 2.0, 3.0]> : !P} : () -> !P
  %r = "relax.batch_norm"(%x, %p, %p, %p, %p) {axis = 1, training = true} : (!X, !P, !P, !P, !P) -> !B
  %y = "relax.tuple_get_item"(%r) {index = 0} : (!B) -> !X
  return %y : !X
}

// Nothing could be folded where a parameter is known at run time.

// CHECK-LABEL: func.func @unknown
// CHECK: "relax.batch_norm"
func.func @unknown(%x: !X, %v: !P) -> !X attributes {relax.function} {
  %p = "relax.constant"() {value = dense<[1.0, 2.0, 3.0]> : !P} : () -> !P
  %r = "relax.batch_norm"(%x, %p, %p, %p, %v) {axis = 1, training = false} : (!X, !P, !P, !P, !P) -> !B
  %y = "relax.tuple_get_item"(%r) {index = 0} : (!B) -> !X
  return %y : !X
}
