// RUN: relax-opt %s --legalize-ops | FileCheck %s

!n_m = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_m = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!k = tensor<?xi32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!places = tensor<?x1xi64, #relax.dims<["k"], affine_map<()[s0] -> (s0, 1)>>>

// CHECK-DAG: #[[ONE:.*]] = affine_map<()[s0] -> (s0)>

// CHECK-LABEL: func.func @clip(
// CHECK-NOT: check_indices
// CHECK: {func = "vm.op.check_source"}
// CHECK: "relax.call_tir"({{.*}}) {callee = @take
func.func @clip(%x: !n_m, %i: !k) -> !k_m attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (!n_m, !k) -> !k_m
  return %0 : !k_m
}

// A kernel looks for the worst index, which the runtime refuses.
// CHECK-LABEL: func.func @take(
// CHECK: %[[WORST:.*]] = "relax.call_tir"({{.*}}) {callee = @index_bounds
// CHECK: %[[N:.*]] = "relax.prim_value"() {value = #relax.dims<["n"], #[[ONE]]>}
// CHECK: %[[FOUND:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.op.check_bounds"}
// CHECK: "relax.match_cast"(%[[FOUND]])
// CHECK: "relax.call_tir"({{.*}}) {callee = @take
func.func @take(%x: !n_m, %i: !k) -> !k_m attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (!n_m, !k) -> !k_m
  return %0 : !k_m
}

// CHECK-LABEL: func.func @scatter_nd(
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.check_bounds"}
// CHECK: "relax.call_tir"({{.*}}) {callee = @scatter_nd
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

// What is outside all the same is taken from the end.
// CHECK-LABEL: func.func private @take{{[0-9]*}}(
// CHECK: memref.load %[[P:.*]][%{{.*}}] : memref<?xi32>
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: arith.index_cast
// CHECK: block_name = "take", iter_types = ["spatial", "spatial"]

// Several updates may be of one element, so their order counts.
// CHECK-LABEL: func.func private @scatter_nd{{[0-9]*}}(
// CHECK: block_name = "copy", iter_types = ["spatial", "spatial"]
// CHECK: block_name = "scatter_nd", iter_types = ["opaque", "spatial"]
