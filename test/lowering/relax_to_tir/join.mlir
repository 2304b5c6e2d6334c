// RUN: relax-opt %s --legalize-ops | FileCheck %s

!n_m = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!k_m = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!sum_m = tensor<?x?xf32, #relax.dims<["k", "m", "n"], affine_map<()[s0, s1, s2] -> (s0 + s2, s1)>>>
!half = tensor<?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!whole = tensor<?x6xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 6)>>>

// CHECK-DAG: #[[SAME:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1) -> (d0, d1 + 3)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<()[s0] -> (s0)>

// The fields of the tuple are the arguments.
// CHECK-LABEL: func.func @concat(
// CHECK: "relax.shape_expr"()
// CHECK-NEXT: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} :
// CHECK-NEXT: "relax.call_tir"(%{{.*}}, %[[ARGS]]) {callee = @concat1}
func.func @concat(%x: !n_m, %y: !k_m) -> !sum_m attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %x, %y : !n_m, !k_m to tuple<!n_m, !k_m>
  %1 = "relax.concat"(%0) {axis = 0 : i64} : (tuple<!n_m, !k_m>) -> !sum_m
  return %1 : !sum_m
}

// One function writes all parts.
// CHECK-LABEL: func.func @split(
// CHECK: "relax.call_tir"({{.*}}) {callee = @split1} : (tuple<!relax.shape<{{.*}}>, !relax.shape<{{.*}}>>,
func.func @split(%x: !whole) -> tuple<!half, !half> attributes {relax.function} {
  %1 = "relax.split"(%x) {indices_or_sections = 2 : i64, axis = 1 : i64} : (!whole) -> tuple<!half, !half>
  return %1 : tuple<!half, !half>
}

// A symbol that no buffer has is passed to the function.
// CHECK-LABEL: func.func @strided_slice(
// CHECK: "relax.call_tir"({{.*}}) {callee = @strided_slice1, tir_vars = #relax.dims<["k"], #[[ONE]]>}
func.func @strided_slice(%x: !whole, %y: !k_m) -> tensor<?x6xf32> attributes {relax.function} {
  %1 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>, end = array<i64: 10>, strides = array<i64: 2>} : (!whole) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// The library takes operands, what may be symbolic, then the other attributes.
// CHECK-LABEL: func.func @library(
// CHECK: %[[K:.*]] = "relax.prim_value"() {value = #relax.dims<["k"], #[[ONE]]>}
// CHECK-NEXT: %[[BEGIN:.*]] = builtin.unrealized_conversion_cast %[[K]] : i64 to tuple<i64>
// CHECK: %[[END:.*]] = builtin.unrealized_conversion_cast %{{.*}} : i64 to tuple<i64>
// CHECK-NEXT: %[[ALL:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[BEGIN]], %[[END]] :
// CHECK-NEXT: "relax.call_pure_packed"(%[[ALL]]) {func = "vm.op.strided_slice", static_args = [array<i64: 0>, array<i64: 2>, false]}
func.func @library(%x: tensor<*xf32>, %y: !k_m) -> tensor<*xf32> attributes {relax.function} {
  %1 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>, end = array<i64: 10>, strides = array<i64: 2>} : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// CHECK-LABEL: func.func private @concat1(
// CHECK: "tir.writes"(%[[OUT:.*]]) {map = #[[SAME]]}
// CHECK: "tir.writes"(%[[OUT]]) {map}

// CHECK-LABEL: func.func private @split1(
// CHECK: "tir.reads"(%[[A:.*]]) {map = #[[SAME]]}
// CHECK: "tir.reads"(%[[A]]) {map = #[[SECOND]]}

// CHECK-LABEL: func.func private @strided_slice1(
// CHECK-SAME: i64 {tir.name = "k"}
