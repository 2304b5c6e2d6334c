// RUN: relax-opt %s --call-tir-rewrite | FileCheck %s

// CHECK: #[[MAP:.*]] = affine_map<()[s0, s1] -> (s1, s0 * 2)>
#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>
!Tn = tensor<?xf32, #n>
!Sn = !relax.shape<#n>

func.func private @prim(%A: memref<?xf32>, %B: memref<?xf32>) attributes {tir.prim_func} {
  return
}
func.func private @prim3(%A: memref<?xf32>, %B: memref<?xf32>, %C: memref<?xi64>) attributes {tir.prim_func} {
  return
}
func.func private @dyn(%A: memref<?xf32>, %B: memref<?xf32>, %n: i64, %m: i64) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @one_output(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"()
// CHECK-NEXT: %[[Y:.*]] = "relax.alloc_tensor"(%[[S]]) {dtype = "float32"}
// CHECK-NEXT: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]] :
// CHECK-NEXT: "vm.call"(%[[ARGS]]) {func = "prim"}
// CHECK-NEXT: return %[[Y]]
func.func @one_output(%x: !Tn) -> !Tn attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !Sn
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_tir"(%s, %a) {callee = @prim} : (!Sn, tuple<!Tn>) -> !Tn
  return %y : !Tn
}

// Each output is its own allocation; a field that is taken out is the output itself.
// CHECK-LABEL: func.func @two_outputs(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"()
// CHECK-NEXT: %[[A:.*]] = "relax.alloc_tensor"(%[[S]]) {dtype = "float32"}
// CHECK-NEXT: %[[B:.*]] = "relax.alloc_tensor"(%[[S]]) {dtype = "int64"}
// CHECK-NEXT: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[X]], %[[A]], %[[B]] :
// CHECK-NEXT: "vm.call"(%[[ARGS]]) {func = "prim3"}
// CHECK-NEXT: return %[[B]]
func.func @two_outputs(%x: !Tn) -> tensor<?xi64, #n> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !Sn
  %ss = builtin.unrealized_conversion_cast %s, %s : !Sn, !Sn to tuple<!Sn, !Sn>
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_tir"(%ss, %a) {callee = @prim3} : (tuple<!Sn, !Sn>, tuple<!Tn>) -> tuple<!Tn, tensor<?xi64, #n>>
  %f = "relax.tuple_get_item"(%y) {index = 1 : i64} : (tuple<!Tn, tensor<?xi64, #n>>) -> tensor<?xi64, #n>
  return %f : tensor<?xi64, #n>
}

// CHECK-LABEL: func.func @returned_tuple(
// CHECK: %[[A:.*]] = "relax.alloc_tensor"
// CHECK: %[[B:.*]] = "relax.alloc_tensor"
// CHECK: "vm.call"
// CHECK-NEXT: %[[T:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]] :
// CHECK-NEXT: return %[[T]]
func.func @returned_tuple(%x: !Tn) -> tuple<!Tn, tensor<?xi64, #n>> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !Sn
  %ss = builtin.unrealized_conversion_cast %s, %s : !Sn, !Sn to tuple<!Sn, !Sn>
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_tir"(%ss, %a) {callee = @prim3} : (tuple<!Sn, !Sn>, tuple<!Tn>) -> tuple<!Tn, tensor<?xi64, #n>>
  return %y : tuple<!Tn, tensor<?xi64, #n>>
}

// The integers of tir_vars come after the outputs.
// CHECK-LABEL: func.func @integers(
// CHECK: %[[Y:.*]] = "relax.alloc_tensor"
// CHECK-NEXT: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %[[Y]] :
// CHECK-NEXT: %[[N:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], #[[MAP]]>>
// CHECK-NEXT: "vm.call_tir_dyn"(%[[ARGS]], %[[N]]) {func = "dyn"}
func.func @integers(%x: !Tn, %w: tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>) -> !Tn attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !Sn
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_tir"(%s, %a) {callee = @dyn, tir_vars = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0 * 2)>>} : (!Sn, tuple<!Tn>) -> !Tn
  return %y : !Tn
}

// CHECK-LABEL: func.func @packed(
// CHECK: %[[Y:.*]] = "relax.alloc_tensor"(%{{.*}}) {dtype = "float16"}
// CHECK: "vm.call"(%{{.*}}) {func = "my.kernel"}
// CHECK-NEXT: return %[[Y]]
func.func @packed(%x: !Tn) -> tensor<?x4xf16, #n4> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#n4>
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_dps_packed"(%s, %a) {func = "my.kernel"} : (!relax.shape<#n4>, tuple<!Tn>) -> tensor<?x4xf16, #n4>
  return %y : tensor<?x4xf16, #n4>
}

// A shape that other code computed.
// CHECK-LABEL: func.func @computed_shape(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !relax.shape<2 : i64>
// CHECK-NEXT: %[[Y:.*]] = "relax.alloc_tensor"(%[[S]]) {dtype = "float32"} : (!relax.shape<2 : i64>) -> tensor<?x?xf32>
func.func @computed_shape(%x: !Tn, %s: !relax.shape<2 : i64>) -> tensor<?x?xf32> attributes {relax.function} {
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_dps_packed"(%s, %a) {func = "my.kernel"} : (!relax.shape<2 : i64>, tuple<!Tn>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Tuples that were not made here are unpacked.
// CHECK-LABEL: func.func @given_tuples(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tuple<{{.*}}, i64>, %[[SS:[a-z0-9]+]]:
// CHECK-NEXT: %[[S0:.*]] = "relax.tuple_get_item"(%[[SS]]) {index = 0 : i64}
// CHECK-NEXT: %[[S1:.*]] = "relax.tuple_get_item"(%[[SS]]) {index = 1 : i64}
// CHECK-NEXT: %[[Y0:.*]] = "relax.alloc_tensor"(%[[S0]])
// CHECK-NEXT: %[[Y1:.*]] = "relax.alloc_tensor"(%[[S1]])
// CHECK-NEXT: %[[A0:.*]] = "relax.tuple_get_item"(%[[A]]) {index = 0 : i64}
// CHECK-NEXT: %[[A1:.*]] = "relax.tuple_get_item"(%[[A]]) {index = 1 : i64}
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[A0]], %[[A1]], %[[Y0]], %[[Y1]] :
// CHECK-NEXT: "vm.call"
func.func @given_tuples(%a: tuple<!Tn, i64>, %ss: tuple<!Sn, !Sn>) -> tuple<!Tn, !Tn> attributes {relax.function} {
  %y = "relax.call_dps_packed"(%ss, %a) {func = "my.kernel"} : (tuple<!Sn, !Sn>, tuple<!Tn, i64>) -> tuple<!Tn, !Tn>
  return %y : tuple<!Tn, !Tn>
}

// CHECK-LABEL: func.func @in_a_branch(
// CHECK: "relax.if"
// CHECK: %[[Y:.*]] = "relax.alloc_tensor"
// CHECK: "vm.call"
// CHECK-NEXT: "relax.yield"(%[[Y]])
func.func @in_a_branch(%c: tensor<i1>, %x: !Tn) -> !Tn attributes {relax.function} {
  %r = "relax.if"(%c) ({
    %s = "relax.shape_expr"() : () -> !Sn
    %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
    %y = "relax.call_tir"(%s, %a) {callee = @prim} : (!Sn, tuple<!Tn>) -> !Tn
    "relax.yield"(%y) : (!Tn) -> ()
  }, {
    "relax.yield"(%x) : (!Tn) -> ()
  }) : (tensor<i1>) -> !Tn
  return %r : !Tn
}

// CHECK-LABEL: func.func @others_stay(
// CHECK-NOT: relax.alloc_tensor
// CHECK: "relax.call_packed"(%{{.*}}) {func = "my.function"}
func.func @others_stay(%x: !Tn) -> !Tn attributes {relax.function} {
  %a = builtin.unrealized_conversion_cast %x : !Tn to tuple<!Tn>
  %y = "relax.call_packed"(%a) {func = "my.function"} : (tuple<!Tn>) -> !Tn
  return %y : !Tn
}
