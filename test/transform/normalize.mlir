// RUN: relax-opt %s --normalize --mlir-print-debuginfo | FileCheck %s
// RUN: relax-opt %s --to-a-normal-form | FileCheck %s --check-prefix=ANF

!T = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>

// The arguments of a call are made where they are passed.

// CHECK-LABEL: func.func private @callee
func.func private @callee(%x: !T, %y: !T) -> !T attributes {relax.function} {
  return %x : !T
}

// ANF-LABEL: func.func @arguments
// ANF-DAG: %[[A:.*]] = "relax.tuple_get_item"(%[[P:.*]]) {index = 0 : i64}
// ANF-DAG: %[[B:.*]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// ANF: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// ANF: "relax.call"(%[[ARGS]])
func.func @arguments(%p: tuple<!T, !T>) -> !T attributes {relax.function} {
  %r = "relax.call"(%p) {callee = @callee} : (tuple<!T, !T>) -> !T
  return %r : !T
}

// A literal is bound once per scope, an empty block is gone, and every binding has a name.

// CHECK-LABEL: func.func @literals
// CHECK: %[[S:.*]] = "relax.shape_expr"() {{.*}} loc([[GV:.*]])
// CHECK-NOT: "relax.shape_expr"
// CHECK: "relax.dataflow"
// CHECK: "relax.reshape"({{.*}}, %[[S]]){{.*}} loc([[LV:.*]])
// CHECK-NOT: "relax.shape_expr"
// CHECK: "relax.reshape"(%{{.*}}, %[[S]])
// CHECK-NOT: "relax.dataflow"
// CHECK-DAG: [[GV]] = loc("gv"
// CHECK-DAG: [[LV]] = loc("lv"
func.func @literals(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %r = "relax.shape_expr"() : () -> !S
  %d = "relax.dataflow"() ({
    %q = "relax.shape_expr"() : () -> !S
    %y = "relax.reshape"(%x, %q) : (!T, !S) -> !T
    "relax.output"(%y) : (!T) -> ()
  }) : () -> !T
  %e = "relax.dataflow"() ({
    "relax.output"(%d) : (!T) -> ()
  }) : () -> !T
  %z = "relax.reshape"(%e, %r) : (!T, !S) -> !T
  return %z : !T
}
