// RUN: relax-opt %s --legalize-ops | FileCheck %s

!n_m = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_m = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!k = tensor<?xi32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!places = tensor<?x1xi64, #relax.dims<["k"], affine_map<()[s0] -> (s0, 1)>>>

// CHECK-DAG: #[[ONE:.*]] = affine_map<()[s0] -> (s0)>

// Indices are checked and wrapped before the kernel, which trusts them.
// CHECK-LABEL: func.func @take(
// CHECK: %[[N:.*]] = "relax.prim_value"() {value = #relax.dims<["n"], #[[ONE]]>}
// CHECK-NEXT: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[I:.*]], %[[N]] :
// CHECK-NEXT: %[[SAFE:.*]] = "relax.call_pure_packed"(%[[ARGS]]) {func = "vm.op.check_indices", static_args = ["clip"]}
// CHECK-SAME: -> tensor<?xi64, #relax.dims<["k"], #[[ONE]]>>
// CHECK: %[[IN:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[SAFE]] :
// CHECK-NEXT: "relax.call_tir"(%{{.*}}, %[[IN]]) {callee = @take1}
func.func @take(%x: !n_m, %i: !k) -> !k_m attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (!n_m, !k) -> !k_m
  return %0 : !k_m
}

// CHECK-LABEL: func.func @scatter_nd(
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.check_columns"} : (tuple<tensor<?x1xi64, {{.*}}>, tuple<i64>>)
// CHECK: "relax.call_tir"({{.*}}) {callee = @scatter_nd1}
func.func @scatter_nd(%x: !n_m, %i: !places, %u: !k_m) -> !n_m attributes {relax.function} {
  %0 = "relax.scatter_nd"(%x, %i, %u) {reduction = "add"} : (!n_m, !places, !k_m) -> !n_m
  return %0 : !n_m
}

// CHECK-LABEL: func.func @unknown(
// CHECK-NOT: check_indices
// CHECK: {func = "vm.op.take", static_args = [0, "fast"]}
func.func @unknown(%x: tensor<?x?xf32>, %i: !k) -> tensor<?x?xf32> attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<?x?xf32>, !k) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func private @take1(
// CHECK: memref.load %[[P:.*]][%{{.*}}] : memref<?xi64>
// CHECK: arith.index_cast
// CHECK: block_name = "take", iter_types = ["spatial", "spatial"]

// Several updates may be of one element, so their order counts.
// CHECK-LABEL: func.func private @scatter_nd1(
// CHECK: block_name = "copy", iter_types = ["spatial", "spatial"]
// CHECK: block_name = "scatter_nd", iter_types = ["opaque", "opaque"]
