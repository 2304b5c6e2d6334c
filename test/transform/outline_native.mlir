// RUN: relax-opt %s --outline-native --split-input-file | FileCheck %s

// Two calls in a row become one; what passes between them lives in the workspace.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

// CHECK-LABEL: func.func private @double
// CHECK-SAME: tir.internal
func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @chain
// CHECK-NOT: @double
// CHECK: "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], #[[OUT:.*]]>>
// CHECK: "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], #[[BYTES:.*]]>>
// CHECK: %[[CALL:.*]] = "relax.call_tir"({{.*}}) {callee = @chain_native}
// CHECK: %[[RESULT:.*]] = "relax.tuple_get_item"(%[[CALL]]) {index = 0 : i64}
// CHECK: return %[[RESULT]]
func.func @chain(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call_tir"(%s, %a) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %z = "relax.call_tir"(%s, %b) {callee = @double} : (!S, tuple<!T>) -> !T
  return %z : !T
}

// CHECK-LABEL: func.func private @chain_native
// CHECK-SAME: %[[IN:[^:]*]]: memref<?xf32> {{{.*}}tir.readonly
// CHECK-SAME: %[[RES:[^:]*]]: memref<?xf32>
// CHECK-SAME: %[[WORK:[^:]*]]: memref<?xi8>
// CHECK: %[[MID:.*]] = memref.view %[[WORK]]
// CHECK: call @double(%[[IN]], %[[MID]])
// CHECK: call @double(%[[MID]], %[[RES]])

// -----

// A packed call between them needs the virtual machine, so nothing is merged.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @interrupted
// CHECK: "relax.call_tir"{{.*}}@double
// CHECK: "relax.call_packed"
// CHECK: "relax.call_tir"{{.*}}@double
// CHECK-NOT: _native
func.func @interrupted(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call_tir"(%s, %a) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %p = "relax.call_packed"(%b) {func = "observe"} : (tuple<!T>) -> !relax.object
  %z = "relax.call_tir"(%s, %b) {callee = @double} : (!S, tuple<!T>) -> !T
  return %z : !T
}

// -----

// A check that compile time cannot vouch for stays a check at run time.

#n = affine_map<()[s0] -> (s0)>
#nm = affine_map<()[s0, s1] -> (s0, s1)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!U = tensor<?xf32, #relax.dims<["m"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

func.func private @add(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["k"], #n>},
                       %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["k"], #n>},
                       %c: memref<?xf32> {tir.name = "C", tir.dtype = "float32", tir.shape = #relax.dims<["k"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @unproved
// CHECK-COUNT-2: "relax.call_tir"{{.*}}@add
func.func @unproved(%x: !T, %y: !U) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x, %y : !T, !U to tuple<!T, !U>
  %p = "relax.call_tir"(%s, %a) {callee = @add} : (!S, tuple<!T, !U>) -> !T
  %b = builtin.unrealized_conversion_cast %p, %y : !T, !U to tuple<!T, !U>
  %q = "relax.call_tir"(%s, %b) {callee = @add} : (!S, tuple<!T, !U>) -> !T
  return %q : !T
}

// -----

// A tuple of arguments that something outside the run uses too stays behind what makes its fields.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @shared_tuple
// CHECK: %[[CALL:.*]] = "relax.call_tir"({{.*}}) {callee = @shared_tuple_native}
// CHECK: %[[FIRST:.*]] = "relax.tuple_get_item"(%[[CALL]]) {index = 0 : i64}
// CHECK: %[[SHARED:.*]] = builtin.unrealized_conversion_cast %[[FIRST]]
// CHECK: "relax.call_packed"(%[[SHARED]])
func.func @shared_tuple(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call_tir"(%s, %a) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %z = "relax.call_tir"(%s, %b) {callee = @double} : (!S, tuple<!T>) -> !T
  %p = "relax.call_packed"(%b) {func = "observe"} : (tuple<!T>) -> !relax.object
  return %z : !T
}

// -----

// Calls whose results nobody uses, or only a tuple that nobody uses, leave valid IR.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @dead
// CHECK-COUNT-2: "relax.call_tir"{{.*}}@double
// CHECK: return
func.func @dead(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call_tir"(%s, %a) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %z = "relax.call_tir"(%s, %b) {callee = @double} : (!S, tuple<!T>) -> !T
  return %x : !T
}

// CHECK-LABEL: func.func @dead_tuple
// CHECK: %[[CALL:.*]] = "relax.call_tir"({{.*}}) {callee = @dead_tuple_native}
// CHECK: return
func.func @dead_tuple(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %y = "relax.call_tir"(%s, %a) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %t = builtin.unrealized_conversion_cast %y, %y : !T, !T to tuple<!T, !T>
  %z = "relax.call_tir"(%s, %b) {callee = @double} : (!S, tuple<!T>) -> !T
  return %z : !T
}
