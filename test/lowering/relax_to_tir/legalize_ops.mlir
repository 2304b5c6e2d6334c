// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#m = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>
#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1)>>

// Calls of one operation on equal types share a prim func.
// CHECK-LABEL: func.func @shared(
// CHECK: "relax.call_tir"(%{{.*}}) {callee = @exp}
// CHECK: "relax.call_tir"(%{{.*}}) {callee = @exp}
func.func @shared(%x: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {relax.function} {
  %a = "relax.exp"(%x) : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  %b = "relax.exp"(%a) : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  return %b : tensor<?xf32, #n>
}

// Symbols that no dimension binds by itself become integers of the prim func.
// CHECK-LABEL: func.func @integers(
// CHECK: "relax.call_tir"(%{{.*}}) {callee = @log, tir_vars = #relax.dims<["m", "n"], #{{.*}}>}
func.func @integers(%s: !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0, s1)>>>, %x: tensor<?xf32, #nm>) -> tensor<?xf32, #nm> attributes {relax.function} {
  %a = "relax.log"(%x) : (tensor<?xf32, #nm>) -> tensor<?xf32, #nm>
  return %a : tensor<?xf32, #nm>
}

// What only run time knows is the library's: unknown shape, rank or dtype, ...
// CHECK-LABEL: func.func @unknown(
// CHECK: "relax.call_pure_packed"(%{{.*}}) {func = "vm.op.exp"} : (tuple<tensor<?xf32>>) -> tensor<?xf32>
// CHECK: "relax.call_pure_packed"(%{{.*}}) {func = "vm.op.softmax", static_args = [-1]} : (tuple<tensor<*x!relax.any_dtype>>) -> tensor<*x!relax.any_dtype>
// CHECK: "relax.call_pure_packed"(%{{.*}}) {func = "vm.op.sum", static_args = [array<i64: 0>, false]}
// CHECK-NOT: relax.match_cast
func.func @unknown(%x: tensor<?xf32>, %y: tensor<*x!relax.any_dtype>) -> tuple<> attributes {relax.function} {
  %a = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %b = "relax.softmax"(%y) {axis = -1} : (tensor<*x!relax.any_dtype>) -> tensor<*x!relax.any_dtype>
  %c = "relax.sum"(%y) {axis = array<i64: 0>, keepdims = false} : (tensor<*x!relax.any_dtype>) -> tensor<*x!relax.any_dtype>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// ... a broadcast that may fail, ...
// CHECK-LABEL: func.func @unsure(
// CHECK: "relax.call_pure_packed"(%{{.*}}) {func = "vm.op.add"} : ({{.*}}) -> tensor<?xf32>
func.func @unsure(%x: tensor<?xf32, #n>, %y: tensor<?xf32, #m>) -> tensor<?xf32> attributes {relax.function} {
  %a = "relax.add"(%x, %y) : (tensor<?xf32, #n>, tensor<?xf32, #m>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}

// ... and what a declared type promises beyond that is asserted.
// CHECK-LABEL: func.func @asserted(
// CHECK: %[[A:.*]] = "relax.call_pure_packed"(%{{.*}}) {func = "vm.op.add"} : ({{.*}}) -> tensor<?xf32>
// CHECK-NEXT: %[[B:.*]] = "relax.match_cast"(%[[A]]) : (tensor<?xf32>) -> tensor<?xf32, #relax.dims<["n"]
// CHECK-NEXT: return %[[B]]
func.func @asserted(%x: tensor<?xf32, #n>, %y: tensor<?xf32, #m>) -> tensor<?xf32, #n> attributes {relax.function} {
  %a = "relax.add"(%x, %y) : (tensor<?xf32, #n>, tensor<?xf32, #m>) -> tensor<?xf32, #n>
  return %a : tensor<?xf32, #n>
}

// An integer power has no kernel.
// CHECK-LABEL: func.func @power(
// CHECK: func = "vm.op.power"
func.func @power(%x: tensor<4xi32>) -> tensor<4xi32> attributes {relax.function} {
  %a = "relax.power"(%x, %x) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %a : tensor<4xi32>
}

// CHECK-LABEL: func.func @data_dependent(
// CHECK: "relax.call_tir"({{.*}}) {callee = @unique_order}
// CHECK: "relax.match_cast"({{.*}}) -> !relax.shape<#relax.dims<["size0"],
// CHECK: "relax.call_tir"({{.*}}) {callee = @unique}
// CHECK: "relax.match_cast"({{.*}}) -> tensor<?xf32>
func.func @data_dependent(%x: tensor<4xf32>) -> tensor<?xf32> attributes {relax.function} {
  %a = "relax.unique"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}

// Operations in blocks and branches too; everything that is no computation stays.
// CHECK-LABEL: func.func @nested(
// CHECK: "relax.dataflow"
// CHECK: "relax.call_tir"
// CHECK: "relax.output"
// CHECK: "relax.if"
// CHECK: "relax.call_tir"
// CHECK: "relax.yield"
func.func @nested(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%a) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  %i = "relax.if"(%c) ({
    %a = "relax.exp"(%d) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.yield"(%a) : (tensor<4xf32>) -> ()
  }, {
    "relax.yield"(%d) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  return %i : tensor<4xf32>
}

// The prim funcs stand after the functions, their integers after their buffers.
// CHECK: func.func private @exp(
// CHECK: func.func private @log(
// CHECK-SAME: %{{.*}}: i64 {tir.name = "m"}, %{{.*}}: i64 {tir.name = "n"}
// CHECK-NOT: @power(
