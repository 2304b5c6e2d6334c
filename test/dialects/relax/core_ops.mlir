// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
#n4 = affine_map<()[s0] -> (s0, 4)>
#twice = affine_map<()[s0] -> (s0 * 2)>
#nm = affine_map<()[s0, s1] -> (s1 * s0)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!s = !relax.shape<#relax.dims<["n"], #n4>>

// CHECK-LABEL: func.func @constant(
func.func @constant() -> tensor<2xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @constant_beside_the_module(
func.func @constant_beside_the_module() -> tensor<2xf32> attributes {relax.function} {
  // CHECK-NEXT: dense_resource<weight> : tensor<2xf32>
  %0 = "relax.constant"() {value = dense_resource<weight> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @shapes(
func.func @shapes(%x: !n4, %u: tensor<*xf32>) -> !relax.shape<unit> attributes {relax.function} {
  // CHECK-NEXT: "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], #nm>>
  // CHECK-NEXT: "relax.prim_value"() {value = #relax.dims<["n"], #{{.*}}>} : () -> i64
  %1 = "relax.prim_value"() {value = #relax.dims<["n"], #twice>} : () -> i64
  // CHECK-NEXT: "relax.shape_of"(%{{.*}}) : ({{.*}}) -> !relax.shape<#relax.dims<["n"], #{{.*}}>>
  %2 = "relax.shape_of"(%x) : (!n4) -> !s
  // CHECK-NEXT: "relax.shape_of"(%{{.*}}) : (tensor<*xf32>) -> !relax.shape<unit>
  %3 = "relax.shape_of"(%u) : (tensor<*xf32>) -> !relax.shape<unit>
  return %3 : !relax.shape<unit>
}

// CHECK-LABEL: func.func @tuples(
func.func @tuples(%x: !n4, %y: tensor<2xi8>) -> tensor<2xi8> attributes {relax.function} {
  // CHECK-NEXT: %[[T:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : {{.*}}, tensor<2xi8> to tuple<{{.*}}, tensor<2xi8>>
  %0 = builtin.unrealized_conversion_cast %x, %y : !n4, tensor<2xi8> to tuple<!n4, tensor<2xi8>>
  // CHECK-NEXT: "relax.tuple_get_item"(%[[T]]) {index = 1 : i64}
  %1 = "relax.tuple_get_item"(%0) {index = 1 : i64} : (tuple<!n4, tensor<2xi8>>) -> tensor<2xi8>
  return %1 : tensor<2xi8>
}

// CHECK-LABEL: func.func @match_cast(
func.func @match_cast(%x: tensor<*x!relax.any_dtype>, %s: !relax.shape<1 : i64>) -> !n4 attributes {relax.function} {
  // CHECK-NEXT: "relax.match_cast"(%{{.*}}) : (tensor<*x!relax.any_dtype>) -> tensor<?x4xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.match_cast"(%x) : (tensor<*x!relax.any_dtype>) -> !n4
  // CHECK-NEXT: "relax.match_cast"(%{{.*}}) : (!relax.shape<1 : i64>) -> !relax.shape<#relax.dims<["n"], #{{.*}}>>
  %1 = "relax.match_cast"(%s) : (!relax.shape<1 : i64>) -> !relax.shape<#relax.dims<["n"], #n>>
  return %0 : !n4
}

// CHECK-LABEL: func.func @dataflow(
func.func @dataflow(%x: !n4) -> !n4 attributes {relax.function} {
  // CHECK-NEXT: %[[D:.*]] = "relax.dataflow"() ({
  // CHECK-NEXT:   %[[A:.*]] = "relax.exp"
  // CHECK-NEXT:   "relax.output"(%[[A]])
  // CHECK-NEXT: }) : () -> tensor<?x4xf32
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (!n4) -> !n4
    "relax.output"(%1) : (!n4) -> ()
  }) : () -> !n4
  // CHECK-NEXT: "relax.dataflow"() ({
  // CHECK-NEXT:   "relax.output"() : () -> ()
  // CHECK-NEXT: }) : () -> ()
  "relax.dataflow"() ({
    "relax.output"() : () -> ()
  }) : () -> ()
  // CHECK-NEXT: return %[[D]]
  return %0 : !n4
}

// CHECK-LABEL: func.func @if(
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<?x4xf32
func.func @if(%c: tensor<i1>, %x: !n4) -> !n4 attributes {relax.function} {
  // CHECK-NEXT: "relax.if"(%[[C]]) ({
  // CHECK-NEXT:   "relax.yield"(%[[X]])
  // CHECK-NEXT: }, {
  // CHECK-NEXT:   %[[Y:.*]] = "relax.abs"(%[[X]])
  // CHECK-NEXT:   "relax.yield"(%[[Y]])
  // CHECK-NEXT: }) : (tensor<i1>) -> tensor<?x4xf32
  %0 = "relax.if"(%c) ({
    "relax.yield"(%x) : (!n4) -> ()
  }, {
    %1 = "relax.abs"(%x) : (!n4) -> !n4
    "relax.yield"(%1) : (!n4) -> ()
  }) : (tensor<i1>) -> !n4
  return %0 : !n4
}

// CHECK: "relax.extern_func"() {func = "lib.f", sym_name = "f"}
"relax.extern_func"() {func = "lib.f", sym_name = "f"} : () -> ()

// CHECK-LABEL: func.func @calls(
func.func @calls(%x: !n4) -> !relax.object attributes {relax.function} {
  // CHECK: %[[S:.*]] = "relax.shape_expr"()
  %s = "relax.shape_expr"() : () -> !s
  // CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %{{.*}}
  %t = builtin.unrealized_conversion_cast %x : !n4 to tuple<!n4>
  // CHECK: "relax.call_tir"(%[[S]], %[[T]]) {callee = @kernel, tir_vars = #relax.dims<["n"], #{{.*}}>}
  %0 = "relax.call_tir"(%s, %t) {callee = @kernel, tir_vars = #relax.dims<["n"], #n>} : (!s, tuple<!n4>) -> !n4
  // CHECK: "relax.call_tir"({{.*}}) {callee = @two} : ({{.*}}) -> tuple<{{.*}}, tensor<?x4xi64, {{.*}}>>
  %ss = builtin.unrealized_conversion_cast %s, %s : !s, !s to tuple<!s, !s>
  %1 = "relax.call_tir"(%ss, %t) {callee = @two} : (tuple<!s, !s>, tuple<!n4>) -> tuple<!n4, tensor<?x4xi64, #relax.dims<["n"], #n4>>>
  // CHECK: "relax.call_dps_packed"(%[[S]], %[[T]]) {func = "lib.kernel"}
  %2 = "relax.call_dps_packed"(%s, %t) {func = "lib.kernel"} : (!s, tuple<!n4>) -> !n4
  // CHECK: "relax.call_packed"(%[[T]]) {func = "lib.print"}
  %3 = "relax.call_packed"(%t) {func = "lib.print"} : (tuple<!n4>) -> !relax.object
  // CHECK: "relax.call_pure_packed"(%[[T]]) {func = "lib.size"}
  %4 = "relax.call_pure_packed"(%t) {func = "lib.size"} : (tuple<!n4>) -> !relax.object
  // CHECK: "relax.call"(%[[T]]) {callee = @calls}
  %5 = "relax.call"(%t) {callee = @calls} : (tuple<!n4>) -> !relax.object
  // CHECK: "relax.alloc_tensor"(%[[S]]) {dtype = "float32"}
  %6 = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!s) -> !n4
  return %5 : !relax.object
}

{-#
  dialect_resources: { builtin: { weight: "0x040000000000803F00000040" } }
#-}
