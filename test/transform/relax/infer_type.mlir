// RUN: relax-opt %s --infer-type --split-input-file | FileCheck %s

// Annotations that say less than follows are completed, through tuples and blocks to the signature.

#n4 = affine_map<()[s0] -> (s0, 4)>
!X = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!Y = tensor<?x?xf32>
!U = tensor<*x!relax.any_dtype>

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> tuple<tensor<?x4xf32, #relax.dims<["n"], #[[N4:.*]]>>, tensor<?xf32, #relax.dims<["n"], #[[N:.*]]>>>
// CHECK: "relax.dataflow"
// CHECK: "relax.exp"({{.*}}) -> tensor<?x4xf32, #relax.dims<["n"], #[[N4]]>>
// CHECK: "relax.sum"({{.*}}) -> tensor<?xf32, #relax.dims<["n"], #[[N]]>>
// CHECK: }) : () -> tuple<tensor<?x4xf32, #relax.dims<["n"], #[[N4]]>>, tensor<?xf32, #relax.dims<["n"], #[[N]]>>>
// CHECK: "relax.shape_of"({{.*}}) -> !relax.shape<#relax.dims<["n"], #[[N4]]>>
func.func @forward(%x: !X) -> tuple<!Y, !U> attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!X) -> !Y
    %s = "relax.sum"(%e) {axis = array<i64: 1>, keepdims = false} : (!Y) -> !U
    %t = builtin.unrealized_conversion_cast %e, %s : !Y, !U to tuple<!Y, !U>
    "relax.output"(%t) : (tuple<!Y, !U>) -> ()
  }) : () -> tuple<!Y, !U>
  %e = "relax.tuple_get_item"(%d) {index = 0} : (tuple<!Y, !U>) -> !Y
  %shape = "relax.shape_of"(%e) : (!Y) -> !relax.shape<2>
  return %d : tuple<!Y, !U>
}

// The caller comes first in the module and learns what the callee returns, in its own symbols.

#m = affine_map<()[s0] -> (s0)>

// CHECK-LABEL: func.func @caller
// CHECK-SAME: -> tensor<?x8xf32, #relax.dims<["m"]
// CHECK: "relax.call"({{.*}}) -> tensor<?x8xf32, #relax.dims<["m"]
func.func @caller(%x: tensor<?x8xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0 * 2, 8)>>>, %m: tensor<?xf32, #relax.dims<["m"], #m>>) -> !U attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : tensor<?x8xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0 * 2, 8)>>> to tuple<tensor<?x8xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0 * 2, 8)>>>>
  %r = "relax.call"(%t) {callee = @callee} : (tuple<tensor<?x8xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0 * 2, 8)>>>>) -> !U
  return %r : !U
}

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: -> tensor<?x?xf32, #relax.dims<["a", "b"]
func.func private @callee(%x: tensor<?x?xf32, #relax.dims<["a", "b"], affine_map<()[s0, s1] -> (s0, s1)>>>) -> !U attributes {relax.function} {
  %e = "relax.exp"(%x) : (tensor<?x?xf32, #relax.dims<["a", "b"], affine_map<()[s0, s1] -> (s0, s1)>>>) -> !U
  return %e : !U
}

// -----

// An annotation that says something else is kept: it is a check.

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!K = tensor<?xf32, #relax.dims<["k"], #n>>

// CHECK-LABEL: func.func @kept
// CHECK-SAME: -> tensor<?xf32, #relax.dims<["k"]
// CHECK: "relax.exp"({{.*}}) -> tensor<?xf32, #relax.dims<["k"]
func.func @kept(%x: !N, %y: !K) -> !K attributes {relax.function} {
  %e = "relax.exp"(%x) : (!N) -> !K
  return %e : !K
}

// Branches that know different things agree on what was declared; a symbol does not leave its branch.

// CHECK-LABEL: func.func @branches
// CHECK-SAME: -> tensor<?xf32>
// CHECK: "relax.if"
// CHECK: %[[A:.*]] = "relax.exp"({{.*}}) -> tensor<?xf32, #relax.dims<["n"]
// CHECK: %[[C:.*]] = "relax.match_cast"(%[[A]]) {{.*}} -> tensor<?xf32>
// CHECK: "relax.yield"(%[[C]])
// CHECK: "relax.exp"({{.*}}) -> tensor<?xf32, #relax.dims<["m"]
// CHECK: }) : (tensor<i1>) -> tensor<?xf32>
func.func @branches(%flag: tensor<i1>, %x: !N) -> tensor<?xf32> attributes {relax.function} {
  %r = "relax.if"(%flag) ({
    %e = "relax.exp"(%x) : (!N) -> tensor<?xf32>
    "relax.yield"(%e) : (tensor<?xf32>) -> ()
  }, {
    %m = "relax.match_cast"(%x) : (!N) -> tensor<?xf32, #relax.dims<["m"], #n>>
    %e = "relax.exp"(%m) : (tensor<?xf32, #relax.dims<["m"], #n>>) -> tensor<?xf32>
    "relax.yield"(%e) : (tensor<?xf32>) -> ()
  }) : (tensor<i1>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @agree
// CHECK-SAME: -> tensor<?xf32, #relax.dims<["n"]
// CHECK: }) : (tensor<i1>) -> tensor<?xf32, #relax.dims<["n"]
func.func @agree(%flag: tensor<i1>, %x: !N) -> tensor<?xf32> attributes {relax.function} {
  %r = "relax.if"(%flag) ({
    %e = "relax.exp"(%x) : (!N) -> tensor<?xf32>
    "relax.yield"(%e) : (tensor<?xf32>) -> ()
  }, {
    %e = "relax.abs"(%x) : (!N) -> tensor<?xf32>
    "relax.yield"(%e) : (tensor<?xf32>) -> ()
  }) : (tensor<i1>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A callee of unknown rank is looked into with what the caller passes.

!U = tensor<*x!relax.any_dtype>
!KM = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>

func.func @flat(%x: !U) -> tensor<?x!relax.any_dtype> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!U) -> !U
  %1 = "relax.flatten"(%0) : (!U) -> tensor<?x!relax.any_dtype>
  return %1 : tensor<?x!relax.any_dtype>
}
// CHECK-LABEL: func.func @passes
// CHECK-SAME: -> tensor<?xf32, #relax.dims<["k", "m"], #[[KM:.*]]>>
// CHECK: "relax.call"({{.*}}) {{.*}} -> tensor<?xf32, #relax.dims<["k", "m"], #[[KM]]>>
func.func @passes(%x: !KM) -> tensor<*x!relax.any_dtype> attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !KM to tuple<!KM>
  %0 = "relax.call"(%t) {callee = @flat} : (tuple<!KM>) -> !U
  return %0 : !U
}

// -----

// After a match_cast has asserted that two symbols are equal, they broadcast.

!N = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!M = tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @asserted
// CHECK: "relax.add"({{.*}}) : {{.*}} -> tensor<?xf32>
// CHECK: "relax.match_cast"
// CHECK: "relax.add"({{.*}}) : {{.*}} -> tensor<?xf32, #relax.dims<[
func.func @asserted(%x: !N, %y: !M) -> tensor<?xf32> attributes {relax.function} {
  %0 = "relax.add"(%x, %y) : (!N, !M) -> tensor<?xf32>
  %1 = "relax.match_cast"(%x) : (!N) -> !M
  %2 = "relax.add"(%x, %y) : (!N, !M) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}
