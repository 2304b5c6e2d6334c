// RUN: relax-opt %s --normalize --mlir-print-debuginfo | FileCheck %s

// The arguments of a function value are made beside its call, too.

// CHECK-LABEL: func.func @function_value
// CHECK: %[[X:.*]] = "relax.tuple_get_item"(%{{.*}}) {index = 0 : i64}
// CHECK-NEXT: %[[T:.*]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: "relax.invoke_closure"(%{{.*}}, %[[T]])
func.func @function_value(%f: !relax.object, %p: tuple<tensor<4xf32>>) -> tensor<4xf32>
    attributes {relax.function} {
  %c = "relax.invoke_closure"(%f, %p) : (!relax.object, tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

!T = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>

// A function that is kept out of optimisations stays as it is, names included.

// CHECK-LABEL: func.func @kept
// CHECK: "relax.shape_expr"
// CHECK: "relax.shape_expr"
// CHECK: "relax.reshape"
func.func @kept(%x: !T) -> !T attributes {relax.function, relax.SkipOptimization = true} {
  %s = "relax.shape_expr"() : () -> !S
  %r = "relax.shape_expr"() : () -> !S
  %y = "relax.reshape"(%x, %s) : (!T, !S) -> !T
  %z = "relax.reshape"(%y, %r) : (!T, !S) -> !T
  return %z : !T
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
