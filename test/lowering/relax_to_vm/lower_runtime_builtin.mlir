// RUN: relax-opt %s --lower-runtime-builtin --split-input-file --verify-diagnostics | FileCheck %s

!X = tensor<16xf32>
!S = !relax.shape<2 : i64>

// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = "relax.call_packed"({{.*}}) {func = "vm.builtin.tensor_to_shape"} : {{.*}} -> !relax.shape<2 : i64>
// CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[S]]
// CHECK: "relax.call_packed"(%[[A]]) {func = "vm.builtin.reshape"} : {{.*}} -> tensor<?x?xf32>
func.func @main(%x: !X, %t: tensor<2xi64>) -> tensor<?x?xf32> attributes {relax.function} {
  %s = "relax.tensor_to_shape"(%t) : (tensor<2xi64>) -> !S
  %y = "relax.reshape"(%x, %s) : (!X, !S) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// A view of a known shape and dtype is made of the tensor's own memory.
// CHECK-LABEL: func.func @views
// CHECK: %[[S:.*]] = "relax.shape_expr"
// CHECK: %[[D:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.builtin.word", static_args = ["int32"]}
// CHECK: %[[O:.*]] = "relax.prim_value"() {value = #relax.dims<[], {{.*}}>} : () -> i64
// CHECK: %[[A:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[S]], %[[D]], %[[O]]
// CHECK: "relax.call_pure_packed"(%[[A]]) {func = "runtime.TVMTensorCreateView"} : {{.*}} -> tensor<16xi32>
// CHECK: "relax.memory_view"
func.func @views(%x: !X, %u: tensor<*xf32>) -> tuple<tensor<16xi32>, tensor<*xi32>> attributes {relax.function} {
  %n = builtin.unrealized_conversion_cast to tuple<>
  %v = "relax.memory_view"(%x, %n) {dtype = "int32", relative_byte_offset} : (!X, tuple<>) -> tensor<16xi32>
  %w = "relax.memory_view"(%u, %n) {dtype = "int32", relative_byte_offset} : (tensor<*xf32>, tuple<>) -> tensor<*xi32>
  %t = builtin.unrealized_conversion_cast %v, %w : tensor<16xi32>, tensor<*xi32> to tuple<tensor<16xi32>, tensor<*xi32>>
  return %t : tuple<tensor<16xi32>, tensor<*xi32>>
}

// -----

func.func @early(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
  // expected-error @+1 {{'relax.alloc_tensor' op must be lowered before LowerRuntimeBuiltin: run lower-alloc-tensor first}}
  %t = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<#relax.dims<[], affine_map<() -> (4)>>>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}
