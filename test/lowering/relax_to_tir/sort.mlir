// RUN: relax-opt %s --legalize-ops | FileCheck %s

// Rows of known rank are sorted by prim funcs, and sets made of them; tensors of unknown rank by the library.

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#s = #relax.dims<["size0"], affine_map<()[s0] -> (s0)>>
#half = #relax.dims<["n"], affine_map<()[s0] -> (s0 floordiv 2)>>

// CHECK-LABEL: func.func @f(
func.func @f(%x: tensor<?xf32, #n>, %u: tensor<*xf32>, %b: tensor<9xf32>, %s: tensor<?xf32, #s>) -> tuple<> attributes {relax.function} {
  // CHECK: "relax.call_tir"({{.*}}) {callee = @sort}
  %0 = "relax.sort"(%x) {descending = true} : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  // CHECK: "relax.call_tir"({{.*}}) {callee = @topk}
  %1 = "relax.topk"(%x) {k = #half, ret_type = "values"} : (tensor<?xf32, #n>) -> tensor<?xf32, #half>
  // One kernel sorts and says how many are distinct, another one writes those.
  // CHECK: "relax.call_tir"({{.*}}) {callee = @unique_order} {{.*}} -> tuple<tensor<?xi64, {{.*}}, tensor<?xi64, {{.*}}, tensor<1xi64>>
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.builtin.tensor_to_shape"}
  // CHECK-NEXT: "relax.match_cast"({{.*}}) -> !relax.shape<#relax.dims<["size1"],
  // CHECK: "relax.call_tir"({{.*}}) {callee = @unique} {{.*}} -> tuple<tensor<?xf32, {{.*}}, tensor<?xi64, {{.*}}>
  %2 = "relax.unique"(%x) {return_counts = true} : (tensor<?xf32, #n>) -> tuple<tensor<?xf32>, tensor<?xi64>>
  // How many are not zero one kernel says and another fills in; the name is not the program's.
  // CHECK: "relax.call_tir"({{.*}}) {callee = @nonzero_count}
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.builtin.tensor_to_shape"}
  // CHECK-NEXT: "relax.match_cast"({{.*}}) -> !relax.shape<#relax.dims<["size2"],
  // CHECK: "relax.call_tir"({{.*}}) {callee = @nonzero} {{.*}} -> tensor<1x?xi64,
  %3 = "relax.nonzero"(%x) : (tensor<?xf32, #n>) -> tensor<?x?xi64>
  // CHECK: %[[S:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.op.sort", static_args = [-1, false]} : ({{.*}}) -> tensor<*xf32>
  %4 = "relax.sort"(%u) : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.unique", static_args = [true, false, false, true, unit]} : ({{.*}}) -> tuple<tensor<?xf32>, tensor<?xi64>>
  %7 = "relax.unique"(%u) {return_counts = true} : (tensor<*xf32>) -> tuple<tensor<?xf32>, tensor<?xi64>>
  // Whether there are as many is for run time to say.
  // CHECK: %[[COUNT:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.op.check_count"}
  // CHECK-NEXT: "relax.match_cast"(%[[COUNT]])
  // CHECK: "relax.call_tir"({{.*}}) {callee = @topk1}
  %5 = "relax.topk"(%x) {ret_type = "indices", k = #relax.dims<[], affine_map<() -> (3)>>} : (tensor<?xf32, #n>) -> tensor<3xi32>
  // CHECK: "relax.call_tir"({{.*}}) {callee = @searchsorted}
  %6 = "relax.searchsorted"(%b, %x) : (tensor<9xf32>, tensor<?xf32, #n>) -> tensor<?xi64, #n>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// Threads do parts of the rows; a short row is sorted by counting, a longer one by bytes.
// CHECK-LABEL: func.func private @sort(
// CHECK: "tir.for"
// CHECK: memref.alloc() {tir.dtype = "uint32", tir.name = "Keys"
// CHECK: memref.alloc() {{.*}}tir.name = "Ranks"
// CHECK: memref.alloc(%{{.*}}) {tir.dtype = "float32", tir.name = "Work"
// CHECK: annotations = {tir.kernel_class = "sort"}, block_name = "sort", iter_types = ["spatial"]
// CHECK: kind = "parallel"

// A few of many are kept in order while the row is read.
// CHECK-LABEL: func.func private @topk1(
// CHECK: memref.alloc() {tir.dtype = "uint32", tir.name = "Best", tir.shape = {{.*}}} : memref<3xi32>
