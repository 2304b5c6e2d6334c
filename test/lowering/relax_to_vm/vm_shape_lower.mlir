// RUN: relax-opt %s --vm-shape-lower | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(vm-shape-lower{emit-err-ctx=false})' | FileCheck %s --check-prefix=SHORT

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#nn = #relax.dims<["n"], affine_map<()[s0] -> (s0, s0)>>
#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>
#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>

// All dimensions constant: one check, no heap.
// CHECK-LABEL: func.func @static(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// SHORT-LABEL: func.func @static(
// SHORT: "vm.check"({{.*}}) {context = "static", dims
// CHECK-NEXT: "vm.check"(%[[X]]) {context = "static: argument 'x' (declared R.Tensor((4, 8), \22float32\22) at {{.*}})", dims = array<i64: 4, 8>, dtype = "float32", kind = "tensor", ndim = 2 : i64}
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"()
// CHECK-NEXT: return
func.func @static(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {relax.function, relax.params = ["x"]} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (4, 8)>>>
  return %x : tensor<4x8xf32>
}

// The first occurrence of a symbol stores, a constant is checked at once.
// CHECK-LABEL: func.func @binds(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: %[[H:.*]] = "vm.alloc_shape_heap"() {size = 1 : i64} : () -> !vm.heap
// CHECK-NEXT: "vm.check"(%[[X]]) {{.*}}dims = array<i64: -1, 4>
// CHECK-NEXT: "vm.store_shape"(%[[X]], %[[H]]) {slots = array<i64: 0, -1>}
// CHECK-NEXT: return
func.func @binds(%x: tensor<?x4xf32, #n4>) -> tensor<?x4xf32, #n4> attributes {relax.function} {
  return %x : tensor<?x4xf32, #n4>
}

// Later occurrences of a symbol are assertions, in one parameter and in another.
// CHECK-LABEL: func.func @repeats(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>, %[[Y:.*]]: tensor<?xf32>)
// CHECK: "vm.check"(%[[X]])
// CHECK-NEXT: "vm.store_shape"(%[[X]], %[[H:.*]]) {slots = array<i64: 0, -1>}
// CHECK-NEXT: "vm.check"(%[[Y]])
// CHECK-NEXT: "vm.assert_shape"(%[[X]], %[[H]]) {{.*}}slots = array<i64: -1, 0>
// CHECK-NEXT: "vm.assert_shape"(%[[Y]], %[[H]]) {{.*}}slots = array<i64: 0>
func.func @repeats(%x: tensor<?x?xf32, #nn>, %y: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {relax.function} {
  return %y : tensor<?xf32, #n>
}

// Compound expressions are computed once, by a native function, as soon as their symbols are known:
// here n is bound after n * 2 was met.
// CHECK-LABEL: func.func @compound(
// CHECK-SAME: %[[Y:.*]]: tensor<?xf32>, %[[X:.*]]: tensor<?x?xf32>)
// CHECK-NEXT: %[[H:.*]] = "vm.alloc_shape_heap"() {size = 5 : i64}
// CHECK-NEXT: "vm.check"(%[[Y]])
// CHECK-NEXT: "vm.check"(%[[X]])
// CHECK-NEXT: "vm.store_shape"(%[[X]], %[[H]]) {slots = array<i64: 0, 2>}
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[H]]
// CHECK-NEXT: "vm.call"(%[[A]]) {func = "shape_func_compound"}
// CHECK-NEXT: "vm.assert_shape"(%[[Y]], %[[H]]) {{.*}}slots = array<i64: 1>
// CHECK-NEXT: %[[S:.*]] = "vm.load_shape"(%[[H]]) {slots = array<i64: 3, 4>} : (!vm.heap) -> !relax.shape<2 : i64>
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[S]]
// CHECK-NEXT: "vm.call"(%[[A]]) {func = "vm.builtin.check_sizes", static_args = ["compound: R.Shape([m * n, (n // 2)]) at {{.*}}"]}
// CHECK-NEXT: return %[[S]]
func.func @compound(%y: tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0 * 2)>>>, %x: tensor<?x?xf32, #nm>) -> !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1, s1 floordiv 2)>>> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1, s1 floordiv 2)>>>
  return %s : !relax.shape<#relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 * s1, s1 floordiv 2)>>>
}

// A constant beside symbols in a shape value has a slot of its own.
// CHECK-LABEL: func.func @constant_in_shape(
// CHECK: %[[C:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], #{{.*}}>>
// CHECK-NEXT: "vm.store_shape"(%[[C]], %[[H:.*]]) {slots = array<i64: 1>}
// CHECK-NEXT: "vm.load_shape"(%[[H]]) {slots = array<i64: 0, 1>}
// CHECK-NOT: vm.load_shape
func.func @constant_in_shape(%x: tensor<?xf32, #n>) -> !relax.shape<#n4> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#n4>
  %again = "relax.shape_expr"() : () -> !relax.shape<#n4>
  return %again : !relax.shape<#n4>
}

// A computed size may turn out negative: it is checked where it is loaded.
// CHECK-LABEL: func.func @may_be_negative(
// CHECK: %[[S:.*]] = "vm.load_shape"
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[S]]
// CHECK-NEXT: "vm.call"(%[[A]]) {func = "vm.builtin.check_sizes", static_args = ["may_be_negative: R.Shape([n - 4]) at {{.*}}"]}
func.func @may_be_negative(%x: tensor<?xf32, #n>) -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0 - 4)>>> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0 - 4)>>>
  return %s : !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0 - 4)>>>
}

// CHECK-LABEL: func.func @integer(
// CHECK: "vm.call"(%{{.*}}) {func = "shape_func_integer"}
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %{{.*}} : !vm.heap
// CHECK-NEXT: %[[V:.*]] = "vm.call"(%[[A]]) {func = "vm.builtin.load_value", static_args = [1]} : (tuple<!vm.heap>) -> i64
// CHECK: "vm.call"(%{{.*}}) {func = "vm.builtin.check_sizes", static_args = ["integer: n * 4 at {{.*}}"]}
// CHECK-NEXT: return %[[V]] : i64
func.func @integer(%x: tensor<?xf32, #n>) -> i64 attributes {relax.function} {
  %v = "relax.prim_value"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0 * 4)>>} : () -> i64
  return %v : i64
}

// match_cast of a tensor: kind, new symbols, then what was known.
// CHECK-LABEL: func.func @match_tensor(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?xf32>, %[[Y:[a-z0-9]+]]: tensor<*x!relax.any_dtype>)
// CHECK: "vm.store_shape"(%[[X]], %[[H:.*]]) {slots = array<i64: 0>}
// CHECK: "vm.check"(%[[Y]]) {context = "match_tensor: return value: match_cast to R.Tensor((n, m, 3), \22float32\22) at {{.*}}", dims = array<i64: -1, -1, 3>, dtype = "float32", kind = "tensor", ndim = 3 : i64}
// CHECK-NEXT: "vm.store_shape"(%[[Y]], %[[H]]) {slots = array<i64: -1, 1, -1>}
// CHECK-NEXT: "vm.assert_shape"(%[[Y]], %[[H]]) {{.*}}slots = array<i64: 0, -1, -1>
// CHECK-NEXT: %[[Z:.*]] = "vm.reinterpret"(%[[Y]]) : (tensor<*x!relax.any_dtype>) -> tensor<?x?x3xf32>
// CHECK-NEXT: return %[[Z]]
func.func @match_tensor(%x: tensor<?xf32, #n>, %y: tensor<*x!relax.any_dtype>) -> tensor<?x?x3xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 3)>>> attributes {relax.function} {
  %z = "relax.match_cast"(%y) : (tensor<*x!relax.any_dtype>) -> tensor<?x?x3xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 3)>>>
  return %z : tensor<?x?x3xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0, 3)>>>
}

// match_cast of a shape (the second overload); afterwards it is the same value.
// CHECK-LABEL: func.func @match_shape(
// CHECK-SAME: %[[S:.*]]: !relax.shape<2 : i64>
// CHECK: "vm.check"(%[[S]]) {{.*}}kind = "shape", ndim = 2 : i64
// CHECK-NEXT: "vm.check"(%[[S]]) {{.*}}kind = "shape", ndim = 2 : i64
// CHECK-NEXT: "vm.store_shape"(%[[S]], %{{.*}}) {slots = array<i64: 0, -1>}
// CHECK-NEXT: "vm.assert_shape"(%[[S]], %{{.*}}) {{.*}}slots = array<i64: -1, 0>
// CHECK-NEXT: return %[[S]]
func.func @match_shape(%s: !relax.shape<2 : i64>) -> !relax.shape<#nn> attributes {relax.function} {
  %t = "relax.match_cast"(%s) : (!relax.shape<2 : i64>) -> !relax.shape<#nn>
  return %t : !relax.shape<#nn>
}

// The fields of a tuple are checked one by one.
// CHECK-LABEL: func.func @tuple(
// CHECK-SAME: %[[T:.*]]: tuple<tensor<?xf32>, tuple<!relax.shape<1 : i64>, i64>>)
// CHECK: "vm.check"(%[[T]]) {{.*}}kind = "tuple", ndim = 2 : i64
// CHECK-NEXT: %[[A:.*]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK-NEXT: "vm.check"(%[[A]]) {context = "tuple: argument 'arg0' {{.*}}, field 0"
// CHECK-NEXT: "vm.store_shape"(%[[A]]
// CHECK-NEXT: %[[B:.*]] = "relax.tuple_get_item"(%[[T]]) {index = 1 : i64}
// CHECK-NEXT: "vm.check"(%[[B]]) {{.*}}, field 1"{{.*}}kind = "tuple"
// CHECK-NEXT: %[[C:.*]] = "relax.tuple_get_item"(%[[B]]) {index = 0 : i64}
// CHECK-NEXT: "vm.check"(%[[C]]) {{.*}}, field 1, field 0"{{.*}}kind = "shape"
// CHECK-NEXT: %[[D:.*]] = "relax.tuple_get_item"(%[[B]]) {index = 1 : i64}
// CHECK-NEXT: "vm.check"(%[[D]]) {{.*}}kind = "int"
// CHECK-NEXT: "vm.assert_shape"(%[[C]]
func.func @tuple(%t: tuple<tensor<?xf32, #n>, tuple<!relax.shape<#n>, i64>>) -> i64 attributes {relax.function} {
  %v = "relax.prim_value"() {value = #relax.dims<[], affine_map<() -> (1)>>} : () -> i64
  return %v : i64
}

// A tuple's fields are taken with the types that they are checked for.
// CHECK-LABEL: func.func @match_tuple(
// CHECK-SAME: %[[T:.*]]: tuple<tensor<*xf32>, !relax.object>)
// CHECK: "vm.check"(%[[T]]) {context = "match_tuple: return value: match_cast to {{.*}}kind = "tuple", ndim = 2 : i64
// CHECK-NEXT: %[[U:.*]] = "vm.reinterpret"(%[[T]]) : (tuple<tensor<*xf32>, !relax.object>) -> tuple<tensor<?xf32>, !relax.shape<1 : i64>>
// CHECK-NEXT: %[[A:.*]] = "relax.tuple_get_item"(%[[U]]) {index = 0 : i64} : ({{.*}}) -> tensor<?xf32>
// CHECK-NEXT: "vm.check"(%[[A]]) {{.*}}kind = "tensor", ndim = 1 : i64
// CHECK-NEXT: "vm.store_shape"(%[[A]]
// CHECK-NEXT: %[[B:.*]] = "relax.tuple_get_item"(%[[U]]) {index = 1 : i64}
// CHECK-NEXT: "vm.check"(%[[B]]) {{.*}}kind = "shape", ndim = 1 : i64
// CHECK-NEXT: "vm.assert_shape"(%[[B]]
func.func @match_tuple(%t: tuple<tensor<*xf32>, !relax.object>) -> tuple<tensor<?xf32, #n>, !relax.shape<#n>> attributes {relax.function} {
  %u = "relax.match_cast"(%t) : (tuple<tensor<*xf32>, !relax.object>) -> tuple<tensor<?xf32, #n>, !relax.shape<#n>>
  return %u : tuple<tensor<?xf32, #n>, !relax.shape<#n>>
}

// What a branch binds is its own: each computes m * 2 for itself.
// CHECK-LABEL: func.func @branches(
// CHECK: "relax.if"
// CHECK: "vm.store_shape"(%[[X:.*]], %[[H:.*]]) {slots = array<i64: 0>}
// CHECK: "vm.call"(%{{.*}}) {func = "shape_func_branches"}
// CHECK-NEXT: "vm.load_shape"(%[[H]]) {slots = array<i64: 1>}
// CHECK: }, {
// CHECK: "vm.store_shape"(%[[X]], %[[H]]) {slots = array<i64: 0>}
// CHECK: "vm.call"(%{{.*}}) {func = "shape_func_branches1"}
// CHECK-NEXT: "vm.load_shape"(%[[H]]) {slots = array<i64: 1>}
func.func @branches(%c: tensor<i1>, %x: tensor<?xf32>) -> !relax.shape<1 : i64> attributes {relax.function} {
  %r = "relax.if"(%c) ({
    %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
    %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0 * 2)>>>
    %t = "relax.match_cast"(%s) : (!relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0 * 2)>>>) -> !relax.shape<1 : i64>
    "relax.yield"(%t) : (!relax.shape<1 : i64>) -> ()
  }, {
    %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
    %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0 * 2)>>>
    %t = "relax.match_cast"(%s) : (!relax.shape<#relax.dims<["m"], affine_map<()[s0] -> (s0 * 2)>>>) -> !relax.shape<1 : i64>
    "relax.yield"(%t) : (!relax.shape<1 : i64>) -> ()
  }) : (tensor<i1>) -> !relax.shape<1 : i64>
  return %r : !relax.shape<1 : i64>
}

// Sizes are checked where a shape is made, with what it is for; that they are not negative needs no
// check any more, nor the maximum.
// CHECK-LABEL: func.func @room(
// CHECK: %[[H:.*]] = "vm.alloc_shape_heap"() {size = 2 : i64}
// CHECK: %[[S:.*]] = "vm.load_shape"(%[[H]]) {slots = array<i64: 1>}
// CHECK: "vm.call"{{.*}}func = "vm.builtin.check_sizes", static_args = ["room: room for windows, R.Shape([n - 3]) at
// CHECK-NEXT: return
#left = #relax.dims<["n"], affine_map<()[s0] -> (s0 - 3)>>
#least = #relax.dims<["T.max(0, n - 3)"], affine_map<()[s0] -> (s0)>>
func.func @room(%x: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {relax.function} {
  %s = "relax.shape_expr"() {what = "room for windows"} : () -> !relax.shape<#left>
  %t = "relax.match_cast"(%s) : (!relax.shape<#left>) -> !relax.shape<#least>
  return %x : tensor<?xf32, #n>
}

// A shape function is a prim func over the heap. What overflows or divides by zero becomes the lowest
// number, which is no size.
// CHECK-LABEL: func.func private @shape_func_compound(
// CHECK-SAME: memref<5xi64> {tir.dtype = "int64", tir.name = "heap"
// CHECK: "tir.block"
// CHECK: memref.load
// CHECK: arith.mulsi_extended
// CHECK: arith.select %{{.*}}, %c-9223372036854775808_i64
// CHECK: memref.store
// CHECK: arith.floordivsi
