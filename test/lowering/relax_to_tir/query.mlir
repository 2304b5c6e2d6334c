// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>

// CHECK-LABEL: func.func @f(
func.func @f(%x: tensor<?x3xf32, #n>, %t: tensor<2xi64>) -> tuple<> attributes {relax.function} {
  // CHECK: "relax.call_tir"({{.*}}) {callee = @size}
  %0 = "relax.size"(%x) : (tensor<?x3xf32, #n>) -> tensor<i64>
  // CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.tensor_to_shape"}
  %1 = "relax.tensor_to_shape"(%t) : (tensor<2xi64>) -> !relax.shape<2>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// CHECK-LABEL: func.func private @size(
// CHECK: "tir.symbol"
// CHECK: memref.store
