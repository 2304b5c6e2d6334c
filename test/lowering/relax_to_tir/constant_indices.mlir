// RUN: relax-opt %s --legalize-ops --split-input-file | FileCheck %s

// Known indices of a known length are places: nothing is looked at when it runs.
// CHECK-LABEL: func.func @known(
// CHECK-NOT: index_bounds
// CHECK: "relax.constant"() {value = {{.*}} : tensor<2xi32>
// CHECK: "relax.call_tir"({{.*}}) {callee = @take
// CHECK-LABEL: func.func private @take
// CHECK-NOT: arith.minsi
// CHECK: block_name = "take"
func.func @known(%x: tensor<4x8xf32>) -> tensor<2x8xf32> attributes {relax.function} {
  %i = "relax.constant"() {value = dense<[3, -4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

!n = tensor<?x8xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 8)>>>

// Of an axis that only run time knows the length is looked at, not the indices.
// CHECK-LABEL: func.func @length(
// CHECK-NOT: index_bounds
// CHECK: {func = "vm.op.check_extremes"}
// CHECK: "relax.call_tir"({{.*}}) {callee = @take
func.func @length(%x: !n) -> tensor<2x8xf32> attributes {relax.function} {
  %i = "relax.constant"() {value = dense<[3, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (!n, tensor<2xi64>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
