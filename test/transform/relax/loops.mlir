// What passes make of loops: a body runs any number of times, none among them, and a turn begins with
// what the one before it left.
// RUN: relax-opt %s --eliminate-common-subexpr | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --cse | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --fold-constant | FileCheck %s --check-prefix=FOLD
// RUN: relax-opt %s --dead-code-elimination | FileCheck %s --check-prefix=DCE
// RUN: relax-opt %s --infer-type | FileCheck %s --check-prefix=INFER
// RUN: relax-opt %s --convert-to-dataflow | FileCheck %s --check-prefix=FLOW
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --outline-native | FileCheck %s --check-prefix=FUSE

!T = tensor<4xf32>
!B = tuple<i64, i64, i64>
!C = tuple<tensor<4xf32>>

// Nothing is written: what stands before a loop still holds in it and after it.

// CSE-LABEL: func.func @reads
// CSE-SAME: (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tuple<i64, i64, i64>)
// CSE-NEXT: %[[A:.*]] = "relax.exp"(%[[X]])
// CSE: "relax.for"
// CSE-NEXT: ^bb0(%{{.*}}: i64, %[[Y:.*]]: tensor<4xf32>):
// CSE-NEXT: %[[C:.*]] = "relax.exp"(%[[Y]])
// CSE-NEXT: %[[E:.*]] = "relax.add"(%[[C]], %[[C]])
// CSE-NEXT: "relax.add"(%[[E]], %[[A]])
// CSE-NOT: relax.exp
// CSE: return
func.func @reads(%x: !T, %bounds: !B) -> tuple<!T, !T> attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %s = builtin.unrealized_conversion_cast %x : !T to !C
  %l = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: !T):
    %b = "relax.exp"(%x) : (!T) -> !T
    %c = "relax.exp"(%y) : (!T) -> !T
    %d = "relax.exp"(%y) : (!T) -> !T
    %e = "relax.add"(%c, %d) : (!T, !T) -> !T
    %f = "relax.add"(%e, %b) : (!T, !T) -> !T
    %n = builtin.unrealized_conversion_cast %f : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!B, !C) -> !C
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (!C) -> !T
  %h = "relax.exp"(%x) : (!T) -> !T
  %j = "relax.add"(%g, %h) : (!T, !T) -> !T
  %k = "relax.add"(%j, %a) : (!T, !T) -> !T
  %r = builtin.unrealized_conversion_cast %k, %g : !T, !T to tuple<!T, !T>
  return %r : tuple<!T, !T>
}

// The second turn would read what the first one has written, and so would what comes after.

// CSE-LABEL: func.func @writes
// CSE-NEXT: relax.exp
// CSE-NEXT: relax.sin
// CSE: relax.while
// CSE: relax.condition
// CSE: relax.exp
// CSE: relax.call_packed
// CSE: relax.yield
// CSE: relax.exp
// CSE-NEXT: relax.sin
// CSE: return
func.func @writes(%x: !T, %limit: tensor<f32>) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %y0 = "relax.sin"(%x) : (!T) -> !T
  %s = builtin.unrealized_conversion_cast %y0 : !T to !C
  %l = "relax.while"(%s) ({
  ^bb0(%y: !T):
    %m = "relax.max"(%y) {axis, keepdims = false} : (!T) -> tensor<f32>
    %q = "relax.less"(%m, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "relax.condition"(%q) : (tensor<i1>) -> ()
  }, {
  ^bb0(%y: !T):
    %b = "relax.exp"(%x) : (!T) -> !T
    %args = builtin.unrealized_conversion_cast %y : !T to !C
    %c = "relax.call_packed"(%args) {func = "double"} : (!C) -> !T
    %d = "relax.add"(%c, %b) : (!T, !T) -> !T
    %n = builtin.unrealized_conversion_cast %d : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!C) -> !C
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (!C) -> !T
  %e = "relax.exp"(%x) : (!T) -> !T
  %f = "relax.sin"(%x) : (!T) -> !T
  %h = "relax.add"(%g, %e) : (!T, !T) -> !T
  %j = "relax.add"(%h, %f) : (!T, !T) -> !T
  %k = "relax.add"(%j, %a) : (!T, !T) -> !T
  return %k : !T
}

// What a loop begins with is a constant, what it carries is none.

// FOLD-LABEL: func.func @constants
// FOLD: %[[ZERO:.*]] = "relax.constant"() {value = dense<0.000000e+00>
// FOLD: "relax.for"
// FOLD-NEXT: ^bb0(%{{.*}}: i64, %[[Y:.*]]: tensor<4xf32>):
// FOLD-NEXT: %[[TWO:.*]] = "relax.constant"
// FOLD-NEXT: "relax.add"(%[[Y]], %[[TWO]])
// FOLD: "relax.negative"
// FOLD-NEXT: return
func.func @constants(%bounds: !B) -> !T attributes {relax.function} {
  %zero = "relax.constant"() {value = dense<0.0> : !T} : () -> !T
  %s = builtin.unrealized_conversion_cast %zero : !T to !C
  %l = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: !T):
    %one = "relax.constant"() {value = dense<1.0> : !T} : () -> !T
    %two = "relax.add"(%one, %one) : (!T, !T) -> !T
    %f = "relax.add"(%y, %two) : (!T, !T) -> !T
    %n = builtin.unrealized_conversion_cast %f : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!B, !C) -> !C
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (!C) -> !T
  %h = "relax.negative"(%g) : (!T) -> !T
  return %h : !T
}

// A loop that nobody needs goes, unless it prints or may never end.

// DCE-LABEL: func.func @dead
// DCE-NOT: relax.exp
// DCE: "relax.for"
// DCE-NOT: relax.sin
// DCE: vm.builtin.print
// DCE: "relax.while"
// DCE: return
func.func @dead(%x: !T, %bounds: !B, %limit: tensor<f32>) -> !T attributes {relax.function} {
  %s = builtin.unrealized_conversion_cast %x : !T to !C
  %pure = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: !T):
    %f = "relax.exp"(%y) : (!T) -> !T
    %n = builtin.unrealized_conversion_cast %f : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!B, !C) -> !C
  %prints = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: !T):
    %unused = "relax.sin"(%y) : (!T) -> !T
    %args = builtin.unrealized_conversion_cast %y : !T to !C
    %p = "relax.call_packed"(%args) {func = "vm.builtin.print"} : (!C) -> !relax.object
    %n = builtin.unrealized_conversion_cast %y : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!B, !C) -> !C
  %endless = "relax.while"(%s) ({
  ^bb0(%y: !T):
    %m = "relax.max"(%y) {axis, keepdims = false} : (!T) -> tensor<f32>
    %q = "relax.less"(%m, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "relax.condition"(%q) : (tensor<i1>) -> ()
  }, {
  ^bb0(%y: !T):
    %n = builtin.unrealized_conversion_cast %y : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!C) -> !C
  return %x : !T
}

// What is carried keeps the type that all turns agree on.

// INFER-LABEL: func.func @carried
// INFER: "relax.exp"({{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// INFER: "relax.match_cast"({{.*}}) : (tuple<tensor<4xf32>>) -> tuple<tensor<*xf32>>
// INFER: "relax.for"
// INFER-NEXT: ^bb0(%{{.*}}: i64, %{{.*}}: tensor<*xf32>):
// INFER: "relax.exp"({{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// INFER: "relax.match_cast"({{.*}}) : (tuple<tensor<4xf32>>) -> tuple<tensor<*xf32>>
// INFER: (tuple<i64, i64, i64>, tuple<tensor<*xf32>>) -> tuple<tensor<*xf32>>
// INFER: return
func.func @carried(%x: !T, %bounds: !B) -> !T attributes {relax.function} {
  %u = "relax.exp"(%x) : (!T) -> tensor<*xf32>
  %s = builtin.unrealized_conversion_cast %u : tensor<*xf32> to tuple<tensor<*xf32>>
  %l = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: tensor<*xf32>):
    %c = "relax.constant"() {value = dense<1.0> : !T} : () -> !T
    %f = "relax.exp"(%c) : (!T) -> tensor<*xf32>
    %n = builtin.unrealized_conversion_cast %f : tensor<*xf32> to tuple<tensor<*xf32>>
    "relax.yield"(%n) : (tuple<tensor<*xf32>>) -> ()
  }) : (!B, tuple<tensor<*xf32>>) -> tuple<tensor<*xf32>>
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (tuple<tensor<*xf32>>) -> tensor<*xf32>
  %h = "relax.match_cast"(%g) : (tensor<*xf32>) -> !T
  return %h : !T
}

// A condition is one expression, a body takes a block.

// FLOW-LABEL: func.func @pure_runs
// FLOW: "relax.while"
// FLOW-NOT: relax.dataflow
// FLOW: "relax.condition"
// FLOW: "relax.dataflow"
// FLOW-NEXT: "relax.exp"
// FLOW-NEXT: %[[SIN:.*]] = "relax.sin"
// FLOW-NEXT: "relax.output"(%[[SIN]])
// FLOW: "relax.yield"
// FLOW-NOT: relax.dataflow
// FLOW: return
func.func @pure_runs(%x: !T, %limit: tensor<f32>) -> !T attributes {relax.function} {
  %s = builtin.unrealized_conversion_cast %x : !T to !C
  %l = "relax.while"(%s) ({
  ^bb0(%y: !T):
    %m = "relax.max"(%y) {axis, keepdims = false} : (!T) -> tensor<f32>
    %o = "relax.negative"(%m) : (tensor<f32>) -> tensor<f32>
    %q = "relax.less"(%o, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "relax.condition"(%q) : (tensor<i1>) -> ()
  }, {
  ^bb0(%y: !T):
    %b = "relax.exp"(%y) : (!T) -> !T
    %c = "relax.sin"(%b) : (!T) -> !T
    %n = builtin.unrealized_conversion_cast %c : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!C) -> !C
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (!C) -> !T
  return %g : !T
}

// What is computed once in front of a loop is not computed in every turn.

// FUSE-LABEL: func.func @outside_and_in
// FUSE: %[[E:.*]] = "relax.call_tir"({{.*}}) {callee = @exp}
// FUSE: "relax.for"
// FUSE: {callee = @sin_add}
// FUSE: return
func.func @outside_and_in(%x: !T, %bounds: !B) -> !T attributes {relax.function} {
  %e = "relax.exp"(%x) : (!T) -> !T
  %s = builtin.unrealized_conversion_cast %x : !T to !C
  %l = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %y: !T):
    %b = "relax.sin"(%e) : (!T) -> !T
    %c = "relax.add"(%b, %y) : (!T, !T) -> !T
    %n = builtin.unrealized_conversion_cast %c : !T to !C
    "relax.yield"(%n) : (!C) -> ()
  }) : (!B, !C) -> !C
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (!C) -> !T
  return %g : !T
}
