// RUN: relax-opt %s --eliminate-common-subexpr --split-input-file | FileCheck %s

// Equal bindings are merged, in either order of a commutative operation's operands.

!T = tensor<4xf32>

// CHECK-LABEL: func.func @plain
// CHECK-NEXT: %[[E:.*]] = "relax.exp"
// CHECK-NEXT: %[[S:.*]] = "relax.add"(%[[E]], %{{.*}})
// CHECK-NEXT: %[[P:.*]] = "relax.multiply"(%[[S]], %[[S]])
// CHECK-NEXT: return %[[P]]
func.func @plain(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %c = "relax.add"(%a, %x) : (!T, !T) -> !T
  %d = "relax.add"(%x, %b) : (!T, !T) -> !T
  %e = "relax.multiply"(%c, %d) : (!T, !T) -> !T
  return %e : !T
}

// Operations that differ in an attribute or in the order of operands are not equal.

// CHECK-LABEL: func.func @different
// CHECK-COUNT-2: "relax.subtract"
// CHECK-COUNT-2: "relax.softmax"
func.func @different(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.function} {
  %a = "relax.subtract"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "relax.subtract"(%y, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = "relax.softmax"(%a) {axis = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = "relax.softmax"(%a) {axis = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = "relax.add"(%b, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = "relax.add"(%e, %d) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %f : tensor<4x4xf32>
}

// -----

// Two results of a function are two tensors: the caller may write to one of them.

!T = tensor<4xf32>

// CHECK-LABEL: func.func @both_returned
// CHECK-COUNT-2: "relax.exp"
func.func @both_returned(%x: !T) -> tuple<!T, !T> attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a, %b : !T, !T to tuple<!T, !T>
  return %t : tuple<!T, !T>
}

// What an impure call gets may be written to, and it may have written to what was read before.

// CHECK-LABEL: func.func @impure
// CHECK: "relax.exp"
// CHECK-NEXT: "relax.exp"
// CHECK: "relax.call_packed"
// CHECK: "relax.exp"
// CHECK-NOT: "relax.exp"
func.func @impure(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!T>) -> !relax.object
  %c = "relax.exp"(%x) : (!T) -> !T
  %d = "relax.exp"(%x) : (!T) -> !T
  %e = "relax.add"(%b, %c) : (!T, !T) -> !T
  %f = "relax.add"(%e, %d) : (!T, !T) -> !T
  return %f : !T
}

// Printing changes nothing.

// CHECK-LABEL: func.func @printed
// CHECK: "relax.exp"
// CHECK-NOT: "relax.exp"
func.func @printed(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "vm.builtin.print"} : (tuple<!T>) -> !relax.object
  %b = "relax.exp"(%x) : (!T) -> !T
  return %b : !T
}

// -----

// Branches see what was computed before, not what the other one computed; what a block hands out is
// known after it.

!T = tensor<4xf32>

// CHECK-LABEL: func.func @scopes
// CHECK: %[[E:.*]] = "relax.exp"
// CHECK: %[[IF:.*]] = "relax.if"
// CHECK-NEXT: %[[A:.*]] = "relax.add"(%[[E]], %[[E]])
// CHECK: "relax.yield"(%[[A]])
// CHECK: %[[B:.*]] = "relax.add"(%[[E]], %[[E]])
// CHECK: %[[F:.*]] = "relax.dataflow"
// CHECK: "relax.output"
// CHECK: %[[N:.*]] = "relax.tuple_get_item"(%[[F]]) {index = 0 : i64}
// CHECK-NOT: "relax.negative"
// CHECK: return
func.func @scopes(%flag: tensor<i1>, %x: !T) -> !T attributes {relax.function} {
  %e = "relax.exp"(%x) : (!T) -> !T
  %r = "relax.if"(%flag) ({
    %a = "relax.exp"(%x) : (!T) -> !T
    %b = "relax.add"(%a, %e) : (!T, !T) -> !T
    "relax.yield"(%b) : (!T) -> ()
  }, {
    %a = "relax.add"(%e, %e) : (!T, !T) -> !T
    %b = "relax.multiply"(%a, %a) : (!T, !T) -> !T
    "relax.yield"(%b) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  %d = "relax.dataflow"() ({
    %n = "relax.negative"(%r) : (!T) -> !T
    %m = "relax.abs"(%n) : (!T) -> !T
    %o = builtin.unrealized_conversion_cast %n, %m : !T, !T to tuple<!T, !T>
    "relax.output"(%o) : (tuple<!T, !T>) -> ()
  }) : () -> tuple<!T, !T>
  %m = "relax.tuple_get_item"(%d) {index = 1} : (tuple<!T, !T>) -> !T
  %n = "relax.negative"(%r) : (!T) -> !T
  %s = "relax.add"(%m, %n) : (!T, !T) -> !T
  return %s : !T
}
