// RUN: relax-opt %s --remove-purity-checking | FileCheck %s

!X = tensor<4xf32>

// CHECK-LABEL: func.func @calls
// CHECK-SAME: relax.force_pure = true
// CHECK: "relax.call_packed"({{.*}}) {func = "f"}
// CHECK: "relax.call_packed"({{.*}}) {func = "g"}
// CHECK-NOT: inplace_indices
// CHECK: return
func.func @calls(%x: !X) -> !X attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %y = "relax.call_pure_packed"(%t) {func = "f"} : (tuple<!X>) -> !X
  %u = builtin.unrealized_conversion_cast %y : !X to tuple<!X>
  %z = "relax.call_inplace_packed"(%u) {func = "g", inplace_indices = array<i64: 0>} : (tuple<!X>) -> !X
  return %z : !X
}

// One that is not pure is not declared so; a call in a dataflow block stays.

// CHECK-LABEL: func.func @impure
// CHECK-NOT: force_pure
// CHECK: "relax.dataflow"
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "f"}
func.func @impure(%x: !X) -> !X attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %o = "relax.call_packed"(%t) {func = "log"} : (tuple<!X>) -> !relax.object
  %d = "relax.dataflow"() ({
    %u = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
    %y = "relax.call_pure_packed"(%u) {func = "f"} : (tuple<!X>) -> !X
    "relax.output"(%y) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}

// CHECK-LABEL: func.func @closure
// CHECK: "relax.invoke_closure"(%{{.*}}, %{{.*}}) : (
func.func @closure(%f: !relax.object, %x: !X) -> !X attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %y = "relax.invoke_closure"(%f, %t) {pure} : (!relax.object, tuple<!X>) -> !X
  return %y : !X
}

// A nested function is marked by its own body: the inner one prints, and only calls of it do.

// CHECK-LABEL: func.func @nested
// CHECK: "relax.lambda"() ({
// CHECK: }) {relax.force_pure = true} : () -> !relax.object
// CHECK: "relax.lambda"() ({
// CHECK: }) : () -> !relax.object
func.func @nested(%x: !X) -> !X attributes {relax.function} {
  %f = "relax.lambda"() ({
  ^bb0(%a: !X):
    %t = builtin.unrealized_conversion_cast %a : !X to tuple<!X>
    %y = "relax.call_pure_packed"(%t) {func = "f"} : (tuple<!X>) -> !X
    "relax.yield"(%y) : (!X) -> ()
  }) : () -> !relax.object
  %g = "relax.lambda"() ({
  ^bb0(%a: !X):
    %t = builtin.unrealized_conversion_cast %a : !X to tuple<!X>
    %y = "relax.call_packed"(%t) {func = "log"} : (tuple<!X>) -> !X
    "relax.yield"(%y) : (!X) -> ()
  }) : () -> !relax.object
  return %x : !X
}
