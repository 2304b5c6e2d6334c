// RUN: relax-opt %s --simplify-inference | FileCheck %s

!X = tensor<2x5x4xf32>
!P = tensor<5xf32>
!B = tuple<!X, !P, !P>

// One multiplication and one addition by channel, of the running statistics.

// CHECK-LABEL: func.func @batch_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x4xf32>, %[[G:.*]]: tensor<5xf32>, %[[B:.*]]: tensor<5xf32>, %[[M:.*]]: tensor<5xf32>, %[[V:.*]]: tensor<5xf32>)
// CHECK: %[[EPS:.*]] = "relax.constant"() {value = dense<9.99999974E-6> : tensor<f32>}
// CHECK: %[[SUM:.*]] = "relax.add"(%[[V]], %[[EPS]])
// CHECK: %[[R:.*]] = "relax.rsqrt"(%[[SUM]])
// CHECK: %[[S:.*]] = "relax.multiply"(%[[R]], %[[G]])
// CHECK: %[[MS:.*]] = "relax.multiply"(%[[M]], %[[S]])
// CHECK: %[[N:.*]] = "relax.negative"(%[[MS]])
// CHECK: %[[T:.*]] = "relax.add"(%[[N]], %[[B]])
// CHECK: %[[S2:.*]] = "relax.reshape"(%[[S]], {{.*}} -> tensor<1x5x1xf32>
// CHECK: %[[XS:.*]] = "relax.multiply"(%[[X]], %[[S2]])
// CHECK: %[[T2:.*]] = "relax.reshape"(%[[T]], {{.*}} -> tensor<1x5x1xf32>
// CHECK: %[[Y:.*]] = "relax.add"(%[[XS]], %[[T2]])
// CHECK: %[[RESULT:.*]] = builtin.unrealized_conversion_cast %[[Y]], %[[M]], %[[V]]
// CHECK-NEXT: return %[[RESULT]]
func.func @batch_norm(%x: !X, %g: !P, %b: !P, %m: !P, %v: !P) -> !B attributes {relax.function} {
  %r = "relax.batch_norm"(%x, %g, %b, %m, %v) {axis = 1} : (!X, !P, !P, !P, !P) -> !B
  return %r : !B
}

// Without scale and shift there is less.

// CHECK-LABEL: func.func @plain
// CHECK-COUNT-2: "relax.multiply"
// CHECK-NOT: "relax.multiply"
// CHECK: return
func.func @plain(%x: !X, %p: !P) -> !X attributes {relax.function} {
  %r = "relax.batch_norm"(%x, %p, %p, %p, %p) {axis = 1, center = false, scale = false} : (!X, !P, !P, !P, !P) -> !B
  %y = "relax.tuple_get_item"(%r) {index = 0} : (!B) -> !X
  return %y : !X
}

// Half precision is widened for the arithmetic.

// CHECK-LABEL: func.func @half
// CHECK: "relax.astype"{{.*}} -> tensor<2x5xf32>
// CHECK: "relax.mean"{{.*}} -> tensor<2x1xf32>
// CHECK: "relax.astype"{{.*}} -> tensor<2x5xf16>
// CHECK-NOT: "relax.layer_norm"
func.func @half(%x: tensor<2x5xf16>, %p: tensor<5xf16>) -> tensor<2x5xf16> attributes {relax.function} {
  %r = "relax.layer_norm"(%x, %p, %p) : (tensor<2x5xf16>, tensor<5xf16>, tensor<5xf16>) -> tensor<2x5xf16>
  return %r : tensor<2x5xf16>
}

// CHECK-LABEL: func.func @dropout
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x4xf32>)
// CHECK: return %[[X]]
func.func @dropout(%x: !X) -> !X attributes {relax.function} {
  %r = "relax.dropout"(%x) : (!X) -> tuple<!X, !X>
  %y = "relax.tuple_get_item"(%r) {index = 0} : (tuple<!X, !X>) -> !X
  return %y : !X
}

// A result that is written to in place is a tensor of its own.

// CHECK-LABEL: func.func @written
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x4xf32>)
// CHECK: %[[C:.*]] = "relax.astype"(%[[X]]) {dtype = "float32"}
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[C]] :
// CHECK-NEXT: "relax.call_packed"(%[[T]])
func.func @written(%x: !X) -> !X attributes {relax.function} {
  %r = "relax.dropout"(%x) : (!X) -> tuple<!X, !X>
  %y = "relax.tuple_get_item"(%r) {index = 0} : (tuple<!X, !X>) -> !X
  %t = builtin.unrealized_conversion_cast %y : !X to tuple<!X>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!X>) -> !relax.object
  return %x : !X
}

// So it is where what it is made from is written to, or is another result of the function.

// CHECK-LABEL: func.func @operand_written
// CHECK: %[[E:.*]] = "relax.exp"
// CHECK: %[[C:.*]] = "relax.astype"(%[[E]]) {dtype = "float32"}
// CHECK: "relax.call_packed"
// CHECK: "relax.add"(%[[C]], %[[E]])
func.func @operand_written(%x: !X) -> !X attributes {relax.function} {
  %e = "relax.exp"(%x) : (!X) -> !X
  %r = "relax.dropout"(%e) : (!X) -> tuple<!X, !X>
  %y = "relax.tuple_get_item"(%r) {index = 0} : (tuple<!X, !X>) -> !X
  %t = builtin.unrealized_conversion_cast %e : !X to tuple<!X>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!X>) -> !relax.object
  %s = "relax.add"(%y, %e) : (!X, !X) -> !X
  return %s : !X
}

// CHECK-LABEL: func.func @operand_returned
// CHECK: %[[E:.*]] = "relax.exp"
// CHECK: %[[C:.*]] = "relax.astype"(%[[E]]) {dtype = "float32"}
// CHECK: builtin.unrealized_conversion_cast %[[E]], %[[C]]
func.func @operand_returned(%x: !X) -> tuple<!X, !X> attributes {relax.function} {
  %e = "relax.exp"(%x) : (!X) -> !X
  %r = "relax.dropout"(%e) : (!X) -> tuple<!X, !X>
  %y = "relax.tuple_get_item"(%r) {index = 0} : (tuple<!X, !X>) -> !X
  %t = builtin.unrealized_conversion_cast %e, %y : !X, !X to tuple<!X, !X>
  return %t : tuple<!X, !X>
}

// Of an unknown rank nobody knows where the channels are.

// CHECK-LABEL: func.func @unknown
// CHECK: "relax.batch_norm"
func.func @unknown(%x: tensor<*xf32>, %p: !P) -> tuple<tensor<*xf32>, !P, !P> attributes {relax.function} {
  %r = "relax.batch_norm"(%x, %p, %p, %p, %p) : (tensor<*xf32>, !P, !P, !P, !P) -> tuple<tensor<*xf32>, !P, !P>
  return %r : tuple<tensor<*xf32>, !P, !P>
}
