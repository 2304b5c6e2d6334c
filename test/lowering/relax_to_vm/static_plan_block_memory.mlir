// RUN: relax-opt %s --static-plan-block-memory --split-input-file | FileCheck %s

// Constant sizes: one storage, and a place in it for each tensor. The first and the third do not
// live at once.

!T = tensor<16xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (16)>>>
!A = tuple<!T, !T>

func.func private @k(%a: memref<16xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (16)>>},
                     %b: memref<16xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (16)>>}) attributes {tir.prim_func} {
  return
}

// CHECK-DAG: #[[TWO:.*]] = affine_map<() -> (128)>
// CHECK-LABEL: func.func @constant
// CHECK: %[[SIZE:.*]] = "relax.prim_value"() {value = #relax.dims<[], #[[TWO]]>}
// CHECK-NEXT: %[[M:.*]] = "vm.alloc_storage"(%[[SIZE]])
// CHECK-NEXT: %[[A:.*]] = "vm.alloc_tensor"(%[[M]], %{{.*}}) {dtype = "float32", offset = [[FIRST:.*]] : i64}
// CHECK: %[[B:.*]] = "vm.alloc_tensor"(%[[M]], %{{.*}}) {dtype = "float32", offset = {{(0|64)}} : i64}
// CHECK: "vm.kill"(%[[A]])
// CHECK: %[[C:.*]] = "vm.alloc_tensor"(%[[M]], %{{.*}}) {dtype = "float32", offset = [[FIRST]] : i64}
// CHECK: "relax.alloc_tensor"
// CHECK: "vm.kill"(%[[C]])
// CHECK-NEXT: "vm.kill"(%[[M]])
func.func @constant(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %a = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %0 = builtin.unrealized_conversion_cast %x, %a : !T, !T to !A
  "vm.call"(%0) {func = "k"} : (!A) -> ()
  %b = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %1 = builtin.unrealized_conversion_cast %a, %b : !T, !T to !A
  "vm.call"(%1) {func = "k"} : (!A) -> ()
  %c = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %2 = builtin.unrealized_conversion_cast %b, %c : !T, !T to !A
  "vm.call"(%2) {func = "k"} : (!A) -> ()
  %d = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %3 = builtin.unrealized_conversion_cast %c, %d : !T, !T to !A
  "vm.call"(%3) {func = "k"} : (!A) -> ()
  return %d : !T
}

// -----

// Symbolic sizes: n floats and then 2 * n of them share a storage of the larger size. What a packed
// function sees may be kept by it, so nothing else is put there.

#n = affine_map<()[s0] -> (s0)>
#n2 = affine_map<()[s0] -> (s0 * 2)>
!T = tensor<?xf32, #relax.dims<["n"], #n>>
!U = tensor<?xf32, #relax.dims<["n"], #n2>>
!S = !relax.shape<#relax.dims<["n"], #n>>
!V = !relax.shape<#relax.dims<["n"], #n2>>

func.func private @k(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m"], #n>}) attributes {tir.prim_func} {
  return
}

// CHECK-DAG: #[[LARGE:.*]] = affine_map<()[s0] -> (s0 * 8)>
// CHECK-LABEL: func.func @symbolic
// CHECK: %[[SIZE:.*]] = "relax.prim_value"() {value = #relax.dims<["n"], #[[LARGE]]>}
// CHECK-NEXT: %[[M:.*]] = "vm.alloc_storage"(%[[SIZE]])
// CHECK-NEXT: "vm.alloc_tensor"(%[[M]]
// CHECK: "vm.alloc_tensor"(%[[M]]
// CHECK: "vm.kill"(%[[M]])
// CHECK: "relax.alloc_tensor"
// CHECK-NOT: vm.alloc_tensor
func.func @symbolic(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %v = "relax.shape_expr"() : () -> !V
  %a = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %0 = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  "vm.call"(%0) {func = "k"} : (tuple<!T>) -> ()
  %b = "relax.alloc_tensor"(%v) {dtype = "float32"} : (!V) -> !U
  %1 = builtin.unrealized_conversion_cast %b : !U to tuple<!U>
  "vm.call"(%1) {func = "k"} : (tuple<!U>) -> ()
  %c = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %2 = builtin.unrealized_conversion_cast %c : !T to tuple<!T>
  %3 = "relax.call_packed"(%2) {func = "keep"} : (tuple<!T>) -> !relax.object
  return %x : !T
}
