// RUN: relax-opt %s --extract-shape-functions --split-input-file | FileCheck %s

// The shape that a function returns depends on a packed function of shapes: a caller that wants
// only that calls a function of shapes.

!N = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!K = tensor<?xf32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!SN = !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0 + 1)>>>

// CHECK-LABEL: func.func @opaque
func.func @opaque(%x: !N) -> tensor<?xf32> attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !SN
  %1 = builtin.unrealized_conversion_cast %0 : !SN to tuple<!SN>
  %2 = "relax.call_pure_packed"(%1) {func = "double"} : (tuple<!SN>) -> !relax.shape<1 : i64>
  %3 = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %4 = "relax.call_dps_packed"(%2, %3) {func = "fill"} : (!relax.shape<1 : i64>, tuple<!N>) -> tensor<?xf32>
  %5 = "relax.exp"(%4) : (tensor<?xf32>) -> tensor<?xf32>
  return %5 : tensor<?xf32>
}

// CHECK-LABEL: func.func @caller
// CHECK: %[[S:.*]] = "relax.shape_of"(%{{.*}}) : {{.*}} -> !relax.shape<#relax.dims<["k"]
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[S]]
// CHECK: %[[R:.*]] = "relax.call"(%[[T]]) {callee = @opaque_shape, pure}
// CHECK: return %[[R]]
func.func @caller(%x: !K) -> !relax.shape<1 : i64> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %x : !K to tuple<!K>
  %1 = "relax.call"(%0) {callee = @opaque, pure} : (tuple<!K>) -> tensor<?xf32>
  %2 = "relax.shape_of"(%1) : (tensor<?xf32>) -> !relax.shape<1 : i64>
  return %2 : !relax.shape<1 : i64>
}
// CHECK-LABEL: func.func private @opaque_shape
// CHECK-SAME: (%{{.*}}: !relax.shape<#relax.dims<["n"]
// CHECK-NEXT: %[[E:.*]] = "relax.shape_expr"()
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[E]]
// CHECK-NEXT: %[[P:.*]] = "relax.call_pure_packed"(%[[A]]) {func = "double"}
// CHECK-NEXT: return %[[P]]

// -----

// What depends on values stays.

!N = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @data
func.func @data(%x: !N) -> tensor<?xf32> attributes {relax.function} {
  %0 = "relax.unique"(%x) : (!N) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @caller
// CHECK: "relax.call"(%{{.*}}) {callee = @data, pure}
// CHECK: "relax.shape_of"
// CHECK-NOT: @data_shape
func.func @caller(%x: !N) -> !relax.shape<1 : i64> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %1 = "relax.call"(%0) {callee = @data, pure} : (tuple<!N>) -> tensor<?xf32>
  %2 = "relax.shape_of"(%1) : (tensor<?xf32>) -> !relax.shape<1 : i64>
  return %2 : !relax.shape<1 : i64>
}
