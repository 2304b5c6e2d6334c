// RUN: relax-opt %s --refine-shapes-backward --split-input-file | FileCheck %s
// RUN: relax-opt %s --refine-shapes-backward=broadcast=false --split-input-file | FileCheck %s --check-prefix=SURE

// The document's example: what is added to a tensor of shape (m, n) is one itself.

!U = tensor<*x!relax.any_dtype>
!MN = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0, s1)>>>

// CHECK-LABEL: func.func @before
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32, #relax.dims<["m", "n"], #[[MN:.*]]>>, %{{.*}}: tensor<?x?xf32, #relax.dims<["m", "n"], #[[MN]]>>)
// CHECK: "relax.log"(%[[X]]) : {{.*}} -> tensor<?x?xf32, #relax.dims<["m", "n"], #[[MN]]>>
// SURE-LABEL: func.func @before
// SURE-SAME: (%[[X:.*]]: tensor<*xf32>,
// SURE: "relax.log"(%[[X]]) : (tensor<*xf32>) -> tensor<*xf32>
func.func @before(%x: !U, %y: !MN) -> !MN attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %0 = "relax.log"(%x) : (!U) -> !U
    %1 = "relax.add"(%0, %y) : (!U, !MN) -> !MN
    "relax.output"(%1) : (!MN) -> ()
  }) : () -> !MN
  return %d : !MN
}

// -----

// A match_cast says what it is given; a conversion, what shape, but not what dtype.

!U = tensor<*x!relax.any_dtype>
!N = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%{{.*}}: tensor<?x!relax.any_dtype, #relax.dims<["n"]
// CHECK: "relax.astype"{{.*}} -> tensor<?xf32, #relax.dims<["n"]
// CHECK: "relax.exp"{{.*}} -> tensor<?xf32, #relax.dims<["n"]
func.func @casts(%x: !U) -> !N attributes {relax.function} {
  %0 = "relax.astype"(%x) {dtype = "float32"} : (!U) -> tensor<*xf32>
  %1 = "relax.exp"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  %2 = "relax.match_cast"(%1) : (tensor<*xf32>) -> !N
  return %2 : !N
}

// -----

// Callers inside the module count on the signature; what a branch does says nothing about others.

!U = tensor<*x!relax.any_dtype>
!F = tensor<4xf32>

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%{{.*}}: tensor<*x!relax.any_dtype>)
func.func private @callee(%x: !U) -> !F attributes {relax.function} {
  %0 = "relax.match_cast"(%x) : (!U) -> !F
  return %0 : !F
}
// CHECK-LABEL: func.func @caller
// CHECK-SAME: (%{{.*}}: tensor<*x!relax.any_dtype>, %{{.*}}: tensor<i1>)
func.func @caller(%x: !U, %c: tensor<i1>) -> !F attributes {relax.function} {
  %r = "relax.if"(%c) ({
    %0 = "relax.match_cast"(%x) : (!U) -> !F
    "relax.yield"(%0) : (!F) -> ()
  }, {
    %t = builtin.unrealized_conversion_cast %x : !U to tuple<!U>
    %0 = "relax.call"(%t) {callee = @callee} : (tuple<!U>) -> !F
    "relax.yield"(%0) : (!F) -> ()
  }) : (tensor<i1>) -> !F
  return %r : !F
}
