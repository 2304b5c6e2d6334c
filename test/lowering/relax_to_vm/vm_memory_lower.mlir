// RUN: relax-opt %s --vm-memory-lower | FileCheck %s

#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>
!T = tensor<8xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (8)>>>

// Bytes are elements times the dtype's size; a returned tensor is not killed.
// CHECK-DAG: #[[BYTES:.*]] = affine_map<()[s0] -> (s0 * 16)>
// CHECK-DAG: #[[STATIC:.*]] = affine_map<() -> (32)>

// CHECK-LABEL: func.func @returned(
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"
// CHECK-NEXT: %[[SIZE:.*]] = "relax.prim_value"() {value = #relax.dims<["n"], #[[BYTES]]>} : () -> i64
// CHECK-NEXT: %[[M:.*]] = "vm.alloc_storage"(%[[SIZE]]) {device = "cpu"} : (i64) -> !vm.storage
// CHECK-NEXT: %[[Y:.*]] = "vm.alloc_tensor"(%[[M]], %[[S]]) {dtype = "float32", offset = 0 : i64}
// CHECK: "vm.call"
// CHECK-NEXT: return %[[Y]]
func.func @returned(%x: tensor<?x4xf32, #n4>) -> tensor<?x4xf32, #n4> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#n4>
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<#n4>) -> tensor<?x4xf32, #n4>
  %a = builtin.unrealized_conversion_cast %x, %y : tensor<?x4xf32, #n4>, tensor<?x4xf32, #n4> to tuple<tensor<?x4xf32, #n4>, tensor<?x4xf32, #n4>>
  "vm.call"(%a) {func = "prim"} : (tuple<tensor<?x4xf32, #n4>, tensor<?x4xf32, #n4>>) -> ()
  return %y : tensor<?x4xf32, #n4>
}

// The size of a shape that other code computed is asked for at run time.
// CHECK-LABEL: func.func @computed_shape(
// CHECK-SAME: %[[S:.*]]: !relax.shape<2 : i64>
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[S]]
// CHECK-NEXT: %[[SIZE:.*]] = "relax.call_pure_packed"(%[[A]]) {func = "vm.builtin.storage_size", static_args = ["float16"]}
// CHECK-NEXT: %[[M:.*]] = "vm.alloc_storage"(%[[SIZE]])
// CHECK-NEXT: "vm.alloc_tensor"(%[[M]], %[[S]]) {dtype = "float16", offset = 0 : i64}
func.func @computed_shape(%s: !relax.shape<2 : i64>) -> tensor<?x?xf16> attributes {relax.function} {
  %y = "relax.alloc_tensor"(%s) {dtype = "float16"} : (!relax.shape<2 : i64>) -> tensor<?x?xf16>
  return %y : tensor<?x?xf16>
}

// An intermediate is killed after its last use, tensor and storage once each.
// CHECK-LABEL: func.func @intermediate(
// CHECK: "relax.prim_value"() {value = #relax.dims<[], #[[STATIC]]>}
// CHECK-NEXT: %[[M:.*]] = "vm.alloc_storage"
// CHECK-NEXT: %[[Y:.*]] = "vm.alloc_tensor"
// CHECK: "vm.call"(%{{.*}}) {func = "first"}
// CHECK: "vm.call"(%{{.*}}) {func = "second"}
// CHECK-NEXT: "vm.kill"(%[[Y]])
// CHECK-NEXT: "vm.kill"(%[[M]])
// CHECK-NOT: vm.kill
// CHECK: return
func.func @intermediate(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %a = builtin.unrealized_conversion_cast %x, %y : !T, !T to tuple<!T, !T>
  "vm.call"(%a) {func = "first"} : (tuple<!T, !T>) -> ()
  %z = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %b = builtin.unrealized_conversion_cast %y, %z : !T, !T to tuple<!T, !T>
  "vm.call"(%b) {func = "second"} : (tuple<!T, !T>) -> ()
  return %z : !T
}

// A packed function may return its argument: the tensor lives as long as the result.
// CHECK-LABEL: func.func @packed_alias(
// CHECK: %[[Y:.*]] = "vm.alloc_tensor"
// CHECK: %[[R:.*]] = "relax.call_packed"
// CHECK-NOT: vm.kill
// CHECK: "vm.call"(%{{.*}}) {func = "last"}
// CHECK-NEXT: "vm.kill"(%[[Y]])
func.func @packed_alias(%x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %a = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %r = "relax.call_packed"(%a) {func = "same"} : (tuple<!T>) -> !T
  %b = builtin.unrealized_conversion_cast %r, %x : !T, !T to tuple<!T, !T>
  "vm.call"(%b) {func = "last"} : (tuple<!T, !T>) -> ()
  return %x : !T
}

// CHECK-LABEL: func.func @escapes_as_packed_result(
// CHECK-NOT: vm.kill
// CHECK: return
func.func @escapes_as_packed_result() -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %a = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %r = "relax.call_packed"(%a) {func = "same"} : (tuple<!T>) -> !T
  return %r : !T
}

// CHECK-LABEL: func.func @escapes_in_tuple(
// CHECK-NOT: vm.kill
// CHECK: return
func.func @escapes_in_tuple(%x: !T) -> tuple<tuple<!T>, !T> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %i = builtin.unrealized_conversion_cast %y : !T to tuple<!T>
  %o = builtin.unrealized_conversion_cast %i, %x : tuple<!T>, !T to tuple<tuple<!T>, !T>
  return %o : tuple<tuple<!T>, !T>
}

// CHECK-LABEL: func.func @escapes_by_match_cast(
// CHECK-NOT: vm.kill
// CHECK: return
func.func @escapes_by_match_cast() -> tensor<?xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  %r = "relax.match_cast"(%y) : (!T) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A use in a branch is a use by the whole `if`.
// CHECK-LABEL: func.func @used_in_branch(
// CHECK: %[[Y:.*]] = "vm.alloc_tensor"
// CHECK: "relax.if"
// CHECK-NOT: vm.kill
// CHECK: }) : (tensor<i1>) -> ()
// CHECK-NEXT: "vm.kill"(%[[Y]])
func.func @used_in_branch(%c: tensor<i1>, %x: !T) -> !T attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
  "relax.if"(%c) ({
    %a = builtin.unrealized_conversion_cast %x, %y : !T, !T to tuple<!T, !T>
    "vm.call"(%a) {func = "inside"} : (tuple<!T, !T>) -> ()
    "relax.yield"() : () -> ()
  }, {
    "relax.yield"() : () -> ()
  }) : (tensor<i1>) -> ()
  return %x : !T
}

// What a branch allocates for itself is killed there; what it yields is not.
// CHECK-LABEL: func.func @allocated_in_branch(
// CHECK: %[[Y:.*]] = "vm.alloc_tensor"
// CHECK: %[[Z:.*]] = "vm.alloc_tensor"
// CHECK: "vm.call"(%{{.*}}) {func = "inside"}
// CHECK-NEXT: "vm.kill"(%[[Y]])
// CHECK-NEXT: "vm.kill"
// CHECK-NEXT: "relax.yield"(%[[Z]])
// CHECK-NOT: vm.kill
func.func @allocated_in_branch(%c: tensor<i1>, %x: !T) -> !T attributes {relax.function} {
  %r = "relax.if"(%c) ({
    %s = "relax.shape_expr"() : () -> !S
    %y = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
    %z = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !T
    %a = builtin.unrealized_conversion_cast %y, %z : !T, !T to tuple<!T, !T>
    "vm.call"(%a) {func = "inside"} : (tuple<!T, !T>) -> ()
    "relax.yield"(%z) : (!T) -> ()
  }, {
    "relax.yield"(%x) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  return %r : !T
}
