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

// -----

// A kernel that reads each point only where it writes it overwrites its argument: nothing else is
// needed, and what is of constant size and small is on the stack.

#v = affine_map<() -> (16)>
#p = affine_map<(d0) -> (d0)>
!T = tensor<16xf32>
!S = !relax.shape<#relax.dims<[], #v>>

func.func private @make(%a: memref<16xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>},
                        %b: memref<16xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>}) attributes {tir.prim_func} {
  return
}
func.func private @negate(%a: memref<16xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>},
                          %b: memref<16xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>}) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %n = arith.constant 16 : index
  "tir.for"(%zero, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb1(%v: index):
      "tir.reads"(%a) {map = #p} : (memref<16xf32>) -> ()
      "tir.writes"(%b) {map = #p} : (memref<16xf32>) -> ()
      %x = memref.load %a[%v] : memref<16xf32>
      %y = arith.negf %x : f32
      memref.store %y, %b[%v] : memref<16xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// CHECK-DAG: #[[SIZES:.*]] = affine_map<() -> (64, 128, 64)>
// CHECK-LABEL: func.func @in_place
// CHECK: callee = @in_place_native
func.func @in_place(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %0 = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %a = "relax.call_tir"(%s, %0) {callee = @make} : (!S, tuple<!T>) -> !T
  %1 = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  %b = "relax.call_tir"(%s, %1) {callee = @negate} : (!S, tuple<!T>) -> !T
  %2 = builtin.unrealized_conversion_cast %b : !T to tuple<!T>
  %c = "relax.call_tir"(%s, %2) {callee = @make} : (!S, tuple<!T>) -> !T
  return %c : !T
}

// CHECK-LABEL: func.func private @in_place_native
// CHECK-SAME: tir.arena = #relax.dims<[], #[[SIZES]]>
// CHECK: %[[ARENA:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
// CHECK: %[[A:.*]] = memref.view %[[ARENA]]
// CHECK: call @make(%{{.*}}, %[[A]])
// CHECK: %[[B:.*]] = memref.view %[[ARENA]]
// CHECK: call @negate(%[[A]], %[[B]])
// CHECK: call @make(%[[B]], %{{.*}})

// -----

// A check of what the run makes comes before the run, on the shape alone.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!U = tensor<?xf32, #relax.dims<["m"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>
!M = !relax.shape<#relax.dims<["m"], #n>>

func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["k"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["k"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func @checked
// CHECK: %[[SHAPE:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !relax.shape
// CHECK: %[[LIKE:.*]] = "relax.call_pure_packed"(%[[SHAPE]]) {func = "vm.builtin.tensor_without_memory", static_args = ["float32"]}
// CHECK: "relax.match_cast"(%[[LIKE]])
// CHECK: "relax.call_tir"({{.*}}) {callee = @checked_native
// CHECK-NOT: relax.match_cast
// CHECK: return
func.func @checked(%x: !T, %y: !U) -> !U attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %m = "relax.shape_expr"() : () -> !M
  %0 = builtin.unrealized_conversion_cast %x : !T to tuple<!T>
  %a = "relax.call_tir"(%s, %0) {callee = @double} : (!S, tuple<!T>) -> !T
  %b = "relax.match_cast"(%a) : (!T) -> !U
  %1 = builtin.unrealized_conversion_cast %b : !U to tuple<!U>
  %c = "relax.call_tir"(%m, %1) {callee = @double} : (!M, tuple<!U>) -> !U
  return %c : !U
}
