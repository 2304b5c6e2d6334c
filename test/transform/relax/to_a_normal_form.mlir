// RUN: relax-opt %s --to-a-normal-form | FileCheck %s

!T = tensor<4xf32>

// The arguments of a call are made where they are passed.

func.func private @callee(%x: !T, %y: !T) -> !T attributes {relax.function} {
  return %x : !T
}

// CHECK-LABEL: func.func @arguments
// CHECK-DAG: %[[A:.*]] = "relax.tuple_get_item"(%[[P:.*]]) {index = 0 : i64}
// CHECK-DAG: %[[B:.*]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK: "relax.call"(%[[ARGS]])
func.func @arguments(%p: tuple<!T, !T>) -> !T attributes {relax.function} {
  %r = "relax.call"(%p) {callee = @callee} : (tuple<!T, !T>) -> !T
  return %r : !T
}
