// RUN: relax-opt %s --legalize-ops | FileCheck %s

!n_m = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n = tensor<?xi32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @zeros_like(
// CHECK: "relax.call_tir"({{.*}}) {callee = @zeros_like1} : (!relax.shape<{{.*}}>, tuple<>)
func.func @zeros_like(%x: !n_m) -> !n_m attributes {relax.function} {
  %0 = "relax.zeros_like"(%x) : (!n_m) -> !n_m
  return %0 : !n_m
}

// CHECK-LABEL: func.func @tril(
// CHECK: "relax.call_tir"({{.*}}) {callee = @tril1}
func.func @tril(%x: !n_m) -> !n_m attributes {relax.function} {
  %0 = "relax.tril"(%x) {k = -1 : i64} : (!n_m) -> !n_m
  return %0 : !n_m
}

// CHECK-LABEL: func.func @arange(
// CHECK: "relax.call_tir"({{.*}}) {callee = @arange1}
func.func @arange(%x: !n_m) -> !n attributes {relax.function} {
  %0 = "relax.arange"() {start = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>, dtype = "int32"} : () -> !n
  return %0 : !n
}

// How many there are is for run time to tell.
// CHECK-LABEL: func.func @arange_of_floats(
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.arange", static_args = [unit]} : (tuple<i64, i64, tensor<f64>>) -> tensor<?xf32>
func.func @arange_of_floats(%x: !n_m) -> tensor<?xf32> attributes {relax.function} {
  %0 = "relax.arange"() {start = 0 : i64, end = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>, step = 0.5 : f64} : () -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func private @zeros_like1(
// CHECK-SAME: tir.name = "Out"
// CHECK: block_name = "zeros_like", iter_types = ["spatial", "spatial"]

// CHECK-LABEL: func.func private @tril1(
// CHECK: arith.subi
// CHECK: arith.cmpi sle
// CHECK: arith.select

// CHECK-LABEL: func.func private @arange1(
// CHECK: arith.trunci %{{.*}} : i64 to i32
