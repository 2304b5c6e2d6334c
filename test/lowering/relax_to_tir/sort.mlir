// RUN: relax-opt %s --legalize-ops | FileCheck %s

// Sorting is the library's; what is known of its results is asserted.

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#half = #relax.dims<["n"], affine_map<()[s0] -> (s0 floordiv 2)>>

// CHECK-LABEL: func.func @f(
func.func @f(%x: tensor<?xf32, #n>) -> tuple<> attributes {relax.function} {
  // CHECK: %[[S:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.op.sort", static_args = [-1, true]} : ({{.*}}) -> tensor<?xf32>
  // CHECK-NEXT: "relax.match_cast"(%[[S]])
  %0 = "relax.sort"(%x) {descending = true} : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  // CHECK: %[[K:.*]] = "relax.prim_value"()
  // CHECK: %[[T:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.op.topk", static_args = [-1, "values", true, "int32"]} : ({{.*}}i64>) -> tensor<?xf32>
  // CHECK-NEXT: "relax.match_cast"(%[[T]])
  %1 = "relax.topk"(%x) {k = #half, ret_type = "values"} : (tensor<?xf32, #n>) -> tensor<?xf32, #half>
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.unique", static_args = [true, false, false, true, unit]} : ({{.*}}) -> tuple<tensor<?xf32>, tensor<?xi64>>
  %2 = "relax.unique"(%x) {return_counts = true} : (tensor<?xf32, #n>) -> tuple<tensor<?xf32>, tensor<?xi64>>
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.nonzero"} : ({{.*}}) -> tensor<?x?xi64>
  %3 = "relax.nonzero"(%x) : (tensor<?xf32, #n>) -> tensor<?x?xi64>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}
