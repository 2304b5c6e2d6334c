// RUN: relax-opt %s --legalize-ops --rewrite-dataflow-reshape | FileCheck %s

#flat = affine_map<()[s0] -> (s0 * 4)>
#two = affine_map<()[s0] -> (s0, 4)>
!X = tensor<?x4xf32, #relax.dims<["n"], #two>>
!Y = tensor<?xf32, #relax.dims<["n"], #flat>>
!S = !relax.shape<#relax.dims<["n"], #flat>>

// A kernel that reads its input in order is a reshape again; what leaves the block stays a copy.

// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = "relax.reshape"(%{{.*}}, %{{.*}}) : ({{.*}}) -> tensor<?xf32
// CHECK: "relax.call_tir"(%{{.*}}, %{{.*}}) {callee = @exp
// CHECK: "relax.call_tir"(%{{.*}}, %{{.*}}) {callee = @reshape
func.func @main(%x: !X) -> tuple<!Y, !Y> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %d = "relax.dataflow"() ({
    %r = "relax.reshape"(%x, %s) : (!X, !S) -> !Y
    %e = "relax.exp"(%r) : (!Y) -> !Y
    %o = "relax.reshape"(%x, %s) : (!X, !S) -> !Y
    %t = builtin.unrealized_conversion_cast %e, %o : !Y, !Y to tuple<!Y, !Y>
    "relax.output"(%t) : (tuple<!Y, !Y>) -> ()
  }) : () -> tuple<!Y, !Y>
  return %d : tuple<!Y, !Y>
}

// A slice reads in order too, but not everything.

// CHECK-LABEL: func.func @slice
// CHECK-NOT: "relax.reshape"
// CHECK: return
func.func @slice(%x: tensor<8xf32>) -> tensor<4xf32> attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %r = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 4>} : (tensor<8xf32>) -> tensor<4xf32>
    %e = "relax.exp"(%r) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%e) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %d : tensor<4xf32>
}
