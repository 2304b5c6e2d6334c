// RUN: relax-opt %s --canonicalize-bindings --split-input-file | FileCheck %s

// A match_cast that says nothing new goes; one that checks or binds stays.

#n = affine_map<()[s0] -> (s0)>
#n4 = affine_map<()[s0] -> (s0, 4)>
#nk = affine_map<()[s0, s1] -> (s1, s0)>
!X = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!Y = tensor<?x?xf32>

// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32{{.*}}>, %[[Y:.*]]: tensor<?x?xf32>)
// CHECK-NEXT: %[[C:.*]] = "relax.match_cast"(%[[Y]])
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[X]])
// CHECK-NEXT: "relax.add"(%[[E]], %[[C]])
// CHECK-NEXT: return
func.func @casts(%x: !X, %y: !Y) -> !X attributes {relax.function} {
  %same = "relax.match_cast"(%x) : (!X) -> !X
  %less = "relax.match_cast"(%same) : (!X) -> !Y
  %new = "relax.match_cast"(%y) : (!Y) -> !X
  %e = "relax.exp"(%less) : (!Y) -> !X
  %s = "relax.add"(%e, %new) : (!X, !X) -> !X
  return %s : !X
}

// A symbol bound to a dimension that is known is that dimension, also in what follows.

!K = tensor<?x?xf32, #relax.dims<["k", "m"], #nk>>
!S = !relax.shape<#relax.dims<["k"], affine_map<()[s0] -> (s0 * 2)>>>

// CHECK-LABEL: func.func @symbols
// CHECK-SAME: -> tuple<tensor<?x4xf32, #relax.dims<["n"], {{.*}}>>, !relax.shape<#relax.dims<[], #[[EIGHT:.*]]>>>
// CHECK-NOT: "relax.match_cast"
// CHECK: "relax.exp"(%{{.*}}) : (tensor<?x4xf32, #relax.dims<["n"], {{.*}}>>) -> tensor<?x4xf32, #relax.dims<["n"]
// CHECK: "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], #{{.*}}>>
func.func @symbols(%x: !X) -> tuple<!K, !S> attributes {relax.function} {
  %c = "relax.match_cast"(%x) : (!X) -> !K
  %e = "relax.exp"(%c) : (!K) -> !K
  %s = "relax.shape_expr"() : () -> !S
  %t = builtin.unrealized_conversion_cast %e, %s : !K, !S to tuple<!K, !S>
  return %t : tuple<!K, !S>
}

// What a branch learns does not hold in the other one, where the same name is another number.

// CHECK-LABEL: func.func @branches
// CHECK: "relax.if"
// CHECK-NOT: "relax.match_cast"
// CHECK: "relax.yield"
// CHECK: "relax.match_cast"(%{{.*}}) : (tensor<?x?xf32>) -> tensor<?x?xf32, #relax.dims<["k", "m"]
func.func @branches(%flag: tensor<i1>, %x: !X, %y: !Y) -> tensor<f32> attributes {relax.function} {
  %r = "relax.if"(%flag) ({
    %c = "relax.match_cast"(%x) : (!X) -> !K
    %e = "relax.exp"(%c) : (!K) -> !K
    %s = "relax.sum"(%e) {axis, keepdims = false} : (!K) -> tensor<f32>
    "relax.yield"(%s) : (tensor<f32>) -> ()
  }, {
    %c = "relax.match_cast"(%y) : (!Y) -> !K
    %e = "relax.exp"(%c) : (!K) -> !K
    %s = "relax.sum"(%e) {axis, keepdims = false} : (!K) -> tensor<f32>
    "relax.yield"(%s) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// Tuples that are unpacked and made again, outputs that were there before their block.

!T = tensor<4xf32>
!P = tuple<!T, !T>

// CHECK-LABEL: func.func @tuples
// CHECK-SAME: (%[[P:.*]]: tuple
// CHECK-NEXT: return %[[P]]
func.func @tuples(%p: !P) -> !P attributes {relax.function} {
  %a = "relax.tuple_get_item"(%p) {index = 0} : (!P) -> !T
  %b = "relax.tuple_get_item"(%p) {index = 1} : (!P) -> !T
  %q = builtin.unrealized_conversion_cast %b, %a : !T, !T to !P
  %c = "relax.tuple_get_item"(%q) {index = 1} : (!P) -> !T
  %d = "relax.tuple_get_item"(%q) {index = 0} : (!P) -> !T
  %r = builtin.unrealized_conversion_cast %c, %d : !T, !T to !P
  return %r : !P
}

// The arguments of a call stay where they are made.

// CHECK-LABEL: func.func @call
// CHECK: %[[ARGS:.*]] = builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call"(%[[ARGS]])
func.func @call(%p: !P) -> !P attributes {relax.function} {
  %a = "relax.tuple_get_item"(%p) {index = 0} : (!P) -> !T
  %t = builtin.unrealized_conversion_cast %p : !P to tuple<!P>
  %r = "relax.call"(%t) {callee = @tuples} : (tuple<!P>) -> !P
  return %r : !P
}

// CHECK-LABEL: func.func @outputs
// CHECK-SAME: (%{{.*}}, %[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[D:.*]] = "relax.dataflow"
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[X]])
// CHECK-NEXT: "relax.output"(%[[E]])
// CHECK: %[[S:.*]] = "relax.add"(%[[D]], %[[X]])
// CHECK-NEXT: "relax.multiply"(%[[S]], %[[D]])
// CHECK-NOT: "relax.if"
func.func @outputs(%flag: tensor<i1>, %x: !T) -> !T attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!T) -> !T
    %o = builtin.unrealized_conversion_cast %e, %x, %e : !T, !T, !T to tuple<!T, !T, !T>
    "relax.output"(%o) : (tuple<!T, !T, !T>) -> ()
  }) : () -> tuple<!T, !T, !T>
  %e = "relax.tuple_get_item"(%d) {index = 0} : (tuple<!T, !T, !T>) -> !T
  %y = "relax.tuple_get_item"(%d) {index = 1} : (tuple<!T, !T, !T>) -> !T
  %f = "relax.tuple_get_item"(%d) {index = 2} : (tuple<!T, !T, !T>) -> !T
  %i = "relax.if"(%flag) ({
    "relax.yield"(%y) : (!T) -> ()
  }, {
    "relax.yield"(%y) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  %s = "relax.add"(%e, %i) : (!T, !T) -> !T
  %p = "relax.multiply"(%s, %f) : (!T, !T) -> !T
  return %p : !T
}

// The outputs of a block are variables: a tuple of them is made.

// CHECK-LABEL: func.func @tuple_of_outputs
// CHECK: %[[D:.*]] = "relax.dataflow"
// CHECK: %[[A:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 0
// CHECK: %[[B:.*]] = "relax.tuple_get_item"(%[[D]]) {index = 1
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK-NEXT: return %[[T]]
func.func @tuple_of_outputs(%x: !T) -> !P attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!T) -> !T
    %f = "relax.exp"(%e) : (!T) -> !T
    %o = builtin.unrealized_conversion_cast %e, %f : !T, !T to !P
    "relax.output"(%o) : (!P) -> ()
  }) : () -> !P
  %a = "relax.tuple_get_item"(%d) {index = 0} : (!P) -> !T
  %b = "relax.tuple_get_item"(%d) {index = 1} : (!P) -> !T
  %t = builtin.unrealized_conversion_cast %a, %b : !T, !T to !P
  return %t : !P
}

// -----

// The symbols of a tuple's fields are known too; what uses a value that is known better is too.

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!K = tensor<?xf32, #relax.dims<["k"], #n>>
!U = tensor<?xf32>

// CHECK-LABEL: func.func @tuple_cast
// CHECK-SAME: (%[[X:.*]]: tuple<
// CHECK-NEXT: "relax.tuple_get_item"(%[[X]])
// CHECK-NOT: "k"
func.func @tuple_cast(%x: tuple<!N>) -> !K attributes {relax.function} {
  %c = "relax.match_cast"(%x) : (tuple<!N>) -> tuple<!K>
  %a = "relax.tuple_get_item"(%c) {index = 0} : (tuple<!K>) -> !K
  return %a : !K
}

// CHECK-LABEL: func.func @known_better
// CHECK: "relax.exp"(%{{.*}}) : (tensor<?xf32, #relax.dims<["n"], {{.*}}>>) -> tensor<?xf32, #relax.dims<["n"]
func.func @known_better(%x: !N) -> !U attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %c = "relax.match_cast"(%x) : (!N) -> !U
    %e = "relax.exp"(%c) : (!U) -> !U
    "relax.output"(%e) : (!U) -> ()
  }) : () -> !U
  return %d : !U
}

// -----

// The parameters of a lambda bind symbols too: what is cast to those is checked, not renamed.

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!K = tensor<?xf32, #relax.dims<["k"], #n>>

// CHECK-LABEL: func.func @lambda
// CHECK: "relax.match_cast"(%{{.*}}) : (tensor<?xf32, #relax.dims<["n"], {{.*}}>>) -> tensor<?xf32, #relax.dims<["k"]
func.func @lambda(%x: !N) -> !relax.object attributes {relax.function} {
  %f = "relax.lambda"() ({
  ^bb0(%a: !K):
    %c = "relax.match_cast"(%x) : (!N) -> !K
    %s = "relax.add"(%a, %c) : (!K, !K) -> !K
    "relax.yield"(%s) : (!K) -> ()
  }) : () -> !relax.object
  return %f : !relax.object
}

// -----

// Symbols are replaced in what a loop carries and a function takes as well. The arguments of a
// function value are made beside its call.

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!M = tensor<?xf32, #relax.dims<["m"], #n>>

// CHECK-LABEL: func.func @around_regions
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32, #relax.dims<["n"]
// CHECK-NOT: ["m"]
// CHECK: "relax.for"
// CHECK-NOT: ["m"]
// CHECK: "relax.lambda"
// CHECK-NOT: ["m"]
// CHECK: return
func.func @around_regions(%x: !N, %bounds: tuple<i64, i64, i64>) -> !M attributes {relax.function} {
  %y = "relax.match_cast"(%x) : (!N) -> !M
  %s = builtin.unrealized_conversion_cast %y : !M to tuple<!M>
  %l = "relax.for"(%bounds, %s) ({
  ^bb0(%i: i64, %z: !M):
    %e = "relax.add"(%z, %y) : (!M, !M) -> !M
    %next = builtin.unrealized_conversion_cast %e : !M to tuple<!M>
    "relax.yield"(%next) : (tuple<!M>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<!M>) -> tuple<!M>
  %f = "relax.lambda"() ({
  ^bb0(%a: !M):
    %r = "relax.add"(%a, %y) : (!M, !M) -> !M
    "relax.yield"(%r) : (!M) -> ()
  }) : () -> !relax.object
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (tuple<!M>) -> !M
  %t = builtin.unrealized_conversion_cast %g : !M to tuple<!M>
  %c = "relax.invoke_closure"(%f, %t) {pure} : (!relax.object, tuple<!M>) -> !M
  return %c : !M
}

// CHECK-LABEL: func.func @function_value
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %{{.*}} : tensor<4xf32> to tuple<tensor<4xf32>>
// CHECK-NEXT: "relax.invoke_closure"(%{{.*}}, %[[T]])
func.func @function_value(%f: !relax.object, %p: tuple<tensor<4xf32>>) -> tensor<4xf32>
    attributes {relax.function} {
  %x = "relax.tuple_get_item"(%p) {index = 0 : i64} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %c = "relax.invoke_closure"(%f, %t) : (!relax.object, tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
