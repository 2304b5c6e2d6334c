// RUN: relax-opt %s --dead-code-elimination --split-input-file | FileCheck %s

// Functions that no public one reaches go; what a name at run time may find stays.

!T = tensor<4xf32>

// CHECK-NOT: @unreached
// CHECK-NOT: @only_from_unreached
// CHECK: func.func private @called
// CHECK: func.func private @by_name
// CHECK-LABEL: func.func @main
func.func private @unreached(%x: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call"(%t) {callee = @only_from_unreached} : (tuple<!T>) -> !T
  return %y : !T
}
func.func private @only_from_unreached(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func private @called(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func private @by_name(%x: !T) -> !T attributes {relax.function} {
  return %x : !T
}
func.func @main(%x: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call"(%t) {callee = @called} : (tuple<!T>) -> !T
  %u = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %z = "relax.call_packed"(%u) {func = "by_name"} : (tuple<!T>) -> !T
  return %z : !T
}

// -----

// Unused bindings go, together with what only they used; effects and assertions stay.

#m = affine_map<()[s0] -> (s0)>
!T = tensor<4xf32>
!D = tensor<?xf32>
!M = tensor<?xf32, #relax.dims<["m"], #m>>

// CHECK-LABEL: func.func @bindings
// CHECK-NEXT: "relax.match_cast"
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call_packed"
// CHECK-NEXT: "relax.if"
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call_packed"
// CHECK-NEXT: "relax.yield"() : () -> ()
// CHECK-NEXT: }, {
// CHECK-NEXT: "relax.yield"() : () -> ()
// CHECK-NEXT: }) : (tensor<i1>) -> ()
// CHECK-NEXT: return
func.func @bindings(%flag: tensor<i1>, %x: !T, %y: !D) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.add"(%a, %a) : (!T, !T) -> !T
  %m = "relax.match_cast"(%y) : (!D) -> !M
  %n = "relax.match_cast"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "observe"} : (tuple<!T>) -> !relax.object
  %q = "relax.call_pure_packed"(%t) {func = "compute"} : (tuple<!T>) -> !relax.object
  %pure = "relax.if"(%flag) ({
    %c = "relax.exp"(%x) : (!T) -> !T
    "relax.yield"(%c) : (!T) -> ()
  }, {
    "relax.yield"(%x) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  %impure = "relax.if"(%flag) ({
    %u = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
    %r = "relax.call_packed"(%u) {func = "observe"} : (tuple<!T>) -> !T
    "relax.yield"(%r) : (!T) -> ()
  }, {
    %c = "relax.exp"(%x) : (!T) -> !T
    "relax.yield"(%c) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  return %x : !T
}

// -----

// Outputs of dataflow blocks that nobody uses go, and blocks that hold nothing.

!T = tensor<4xf32>

// CHECK-LABEL: func.func @outputs
// CHECK-NEXT: %[[D:.*]] = "relax.dataflow"
// CHECK-NEXT: %[[B:.*]] = "relax.negative"
// CHECK-NEXT: "relax.output"(%[[B]])
// CHECK-NEXT: }) : () -> tensor<4xf32>
// CHECK-NEXT: return %[[D]]
func.func @outputs(%x: !T) -> !T attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (!T) -> !T
    %b = "relax.negative"(%x) : (!T) -> !T
    %o = builtin.unrealized_conversion_cast %a, %b : !T, !T to tuple<!T, !T>
    "relax.output"(%o) : (tuple<!T, !T>) -> ()
  }) : () -> tuple<!T, !T>
  %b = "relax.tuple_get_item"(%d) {index = 1} : (tuple<!T, !T>) -> !T
  %u = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (!T) -> !T
    "relax.output"(%a) : (!T) -> ()
  }) : () -> !T
  return %b : !T
}

// CHECK-LABEL: func.func @two_of_three
// CHECK: %[[D:.*]] = "relax.dataflow"
// CHECK: -> tuple<tensor<4xf32>, tensor<4xf32>>
// CHECK: "relax.tuple_get_item"(%[[D]]) {index = 1 : i64}
// CHECK: "relax.tuple_get_item"(%[[D]]) {index = 0 : i64}
func.func @two_of_three(%x: !T) -> !T attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (!T) -> !T
    %b = "relax.negative"(%x) : (!T) -> !T
    %c = "relax.abs"(%x) : (!T) -> !T
    %o = builtin.unrealized_conversion_cast %a, %b, %c : !T, !T, !T to tuple<!T, !T, !T>
    "relax.output"(%o) : (tuple<!T, !T, !T>) -> ()
  }) : () -> tuple<!T, !T, !T>
  %c = "relax.tuple_get_item"(%d) {index = 2} : (tuple<!T, !T, !T>) -> !T
  %a = "relax.tuple_get_item"(%d) {index = 0} : (tuple<!T, !T, !T>) -> !T
  %r = "relax.add"(%a, %c) : (!T, !T) -> !T
  return %r : !T
}

// -----

// A private function loses the parameters that it does not use, but not one that binds a symbol.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<4xf32>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%[[Y:.*]]: tensor<4xf32>, %{{.*}}: tensor<?xf32{{.*}}>)
func.func private @callee(%x: !T, %y: !T, %n: !N) -> tuple<!T, !S> attributes {relax.function, relax.params = ["x", "y", "n"]} {
  %s = "relax.shape_expr"() : () -> !S
  %t = builtin.unrealized_conversion_cast %y, %s : !T, !S to tuple<!T, !S>
  return %t : tuple<!T, !S>
}

// CHECK-LABEL: func.func @caller
// CHECK-NOT: "relax.exp"
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<?xf32
func.func @caller(%x: !T, %n: !N) -> tuple<!T, !S> attributes {relax.function} {
  %e = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %e, %x, %n : !T, !T, !N to tuple<!T, !T, !N>
  %r = "relax.call"(%t) {callee = @callee} : (tuple<!T, !T, !N>) -> tuple<!T, !S>
  return %r : tuple<!T, !S>
}

// -----

// Arguments that go take along what only they used, other calls included, and so on up the callers.

!T = tensor<4xf32>
!P = tuple<!T, !T>

// CHECK-LABEL: func.func @caller_of_calls
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[ONE:.*]] = builtin.unrealized_conversion_cast %[[X]] : tensor<4xf32> to tuple<tensor<4xf32>>
// CHECK-NEXT: %[[R:.*]] = "relax.call"(%[[ONE]]) {callee = @outer}
// CHECK-NEXT: return %[[R]]
func.func @caller_of_calls(%x: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x, %x : !T, !T to !P
  %a = "relax.call"(%t) {callee = @gone, pure} : (!P) -> !T
  %u = builtin.unrealized_conversion_cast %x, %a : !T, !T to !P
  %b = "relax.call"(%u) {callee = @outer} : (!P) -> !T
  return %b : !T
}

// CHECK: func.func private @outer(%{{.*}}: tensor<4xf32>) ->
func.func private @outer(%x: !T, %y: !T) -> !T attributes {relax.function} {
  %e = "relax.exp"(%y) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %x, %e : !T, !T to !P
  %b = "relax.call"(%t) {callee = @inner} : (!P) -> !T
  return %b : !T
}

// CHECK: func.func private @inner(%{{.*}}: tensor<4xf32>) ->
func.func private @inner(%x: !T, %y: !T) -> !T attributes {relax.function} {
  return %x : !T
}

// CHECK-NOT: @gone
func.func private @gone(%x: !T, %y: !T) -> !T attributes {relax.function} {
  return %x : !T
}
