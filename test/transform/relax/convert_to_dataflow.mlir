// RUN: relax-opt %s --convert-to-dataflow | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(convert-to-dataflow{min_size=3})' | FileCheck %s --check-prefix=THREE

!T = tensor<4xf32>

// Effects stay where they are and end a block; a block that was there is joined with its surroundings;
// the arguments of a call outside are made outside.

// CHECK-LABEL: func.func @runs
// CHECK-NEXT: %[[D:.*]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[A:.*]] = "relax.exp"
// CHECK-NEXT: %[[B:.*]] = "relax.negative"(%[[A]])
// CHECK-NEXT: "relax.abs"(%[[B]])
// CHECK: "relax.output"
// CHECK: %[[BO:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 0 : i64}
// CHECK: %[[CO:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 1 : i64}
// CHECK: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[CO]]
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]])
// CHECK-NEXT: %[[E:.*]] = "relax.dataflow"() ({
// CHECK-NEXT: "relax.add"(%[[BO]], %[[CO]])
// CHECK-NEXT: "relax.exp"
// CHECK-NEXT: "relax.output"
// CHECK-NEXT: }) : () -> tensor<4xf32>
// CHECK-NEXT: return %[[E]]
// THREE-LABEL: func.func @runs
// THREE: "relax.dataflow"
// THREE: "relax.call_packed"
// THREE-NOT: "relax.dataflow"
func.func @runs(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %d = "relax.dataflow"() ({
    %b = "relax.negative"(%a) : (!T) -> !T
    "relax.output"(%b) : (!T) -> ()
  }) : () -> !T
  %c = "relax.abs"(%d) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %c : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!T>) -> !relax.object
  %s = "relax.add"(%d, %c) : (!T, !T) -> !T
  %e = "relax.exp"(%s) : (!T) -> !T
  return %e : !T
}

// Branches have blocks of their own.

// CHECK-LABEL: func.func @branches
// CHECK-NEXT: "relax.if"
// CHECK-NEXT: %[[D:.*]] = "relax.dataflow"
// CHECK: "relax.yield"(%[[D]])
// CHECK: "relax.exp"
// CHECK-NEXT: "relax.yield"
func.func @branches(%flag: tensor<i1>, %x: !T) -> !T attributes {relax.function} {
  %r = "relax.if"(%flag) ({
    %a = "relax.exp"(%x) : (!T) -> !T
    %b = "relax.negative"(%a) : (!T) -> !T
    "relax.yield"(%b) : (!T) -> ()
  }, {
    %a = "relax.exp"(%x) : (!T) -> !T
    "relax.yield"(%a) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  return %r : !T
}

// So is a tuple that has a name, if it is a call's arguments.

func.func private @callee(%x: !T, %y: !T) -> !T attributes {relax.function} {
  return %x : !T
}

// CHECK-LABEL: func.func @named
// CHECK: %[[D:.*]] = "relax.dataflow"
// CHECK: %[[A:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 0 : i64}
// CHECK: %[[B:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 1 : i64}
// CHECK: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK-NEXT: "relax.call"(%[[ARGS]])
func.func @named(%x: !T) -> (!T, !T) attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%a) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a, %b : !T, !T to tuple<!T, !T> loc("t")
  %c = "relax.call"(%t) {callee = @callee} : (tuple<!T, !T>) -> !T
  return %b, %c : !T, !T
}
