// RUN: relax-opt %s --fold-constant --split-input-file | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(fold-constant{max_bytes=16})' --split-input-file | FileCheck %s --check-prefix=SMALL

!T = tensor<3xf32>

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[C:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<f32>}
// CHECK-NEXT: "relax.multiply"(%{{.*}}, %[[C]])
// CHECK-NEXT: return
func.func @chain(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %b = "relax.exp"(%a) : (tensor<f32>) -> tensor<f32>
  %c = "relax.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = "relax.multiply"(%x, %c) : (!T, tensor<f32>) -> !T
  return %d : !T
}

// A result larger than its operands counts against the limit.

// CHECK-LABEL: func.func @larger
// CHECK-NOT: "relax.add"
// SMALL-LABEL: func.func @larger
// SMALL: "relax.add"
func.func @larger() -> tensor<3x3xf32> attributes {relax.function} {
  %a = "relax.constant"() {value = dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>} : () -> tensor<3x1xf32>
  %b = "relax.constant"() {value = dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>} : () -> tensor<1x3xf32>
  %c = "relax.add"(%a, %b) : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return %c : tensor<3x3xf32>
}

// What an impure call may write to is made anew in every run; so is what is read from it.

// CHECK-LABEL: func.func @written
// CHECK: "relax.constant"
// CHECK-NEXT: "relax.exp"
// CHECK: "relax.call_packed"
// CHECK: "relax.negative"
func.func @written() -> !T attributes {relax.function} {
  %a = "relax.constant"() {value = dense<[1.0, 2.0, 3.0]> : !T} : () -> !T
  %b = "relax.exp"(%a) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %b : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!T>) -> !relax.object
  %c = "relax.negative"(%b) : (!T) -> !T
  return %c : !T
}

// What fails stays, to fail at run time; a type that was declared wider stays declared.

// CHECK-LABEL: func.func @fails
// CHECK: "relax.reshape"
func.func @fails() -> tensor<?x?xf32> attributes {relax.function} {
  %a = "relax.constant"() {value = dense<[1.0, 2.0, 3.0]> : !T} : () -> !T
  %d = "relax.match_cast"(%a) : (!T) -> tensor<?xf32>
  %e = "relax.exp"(%d) : (tensor<?xf32>) -> tensor<?xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (2, 2)>>>
  %r = "relax.reshape"(%e, %s) : (tensor<?xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (2, 2)>>>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @declared
// CHECK: %[[C:.*]] = "relax.constant"
// CHECK-NEXT: %[[M:.*]] = "relax.match_cast"(%[[C]]) : (tensor<2xf32>) -> tensor<?xf32>
// CHECK-NEXT: return %[[M]]
func.func @declared() -> tensor<?xf32> attributes {relax.function} {
  %a = "relax.constant"() {value = dense<[1.0, 2.0, 1.0]> : !T} : () -> !T
  %u = "relax.unique"(%a) : (!T) -> tensor<?xf32>
  return %u : tensor<?xf32>
}

// -----

// Shapes, tuples and branches that are known.

#n4 = affine_map<()[s0] -> (s0, 4)>
!X = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!S = !relax.shape<#relax.dims<["n"], #n4>>

// CHECK-LABEL: func.func @known
// CHECK-NEXT: "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"]
// CHECK-NEXT: %[[E:.*]] = "relax.exp"
// CHECK-NEXT: %[[T:.*]] = builtin.unrealized_conversion_cast %[[E]]
// CHECK-NEXT: return %[[T]]
func.func @known(%x: !X) -> tuple<!X, !S> attributes {relax.function} {
  %s = "relax.shape_of"(%x) : (!X) -> !S
  %p = builtin.unrealized_conversion_cast %x, %s : !X, !S to tuple<!X, !S>
  %y = "relax.tuple_get_item"(%p) {index = 0} : (tuple<!X, !S>) -> !X
  %c = "relax.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %r = "relax.if"(%c) ({
    %e = "relax.exp"(%y) : (!X) -> !X
    "relax.yield"(%e) : (!X) -> ()
  }, {
    %t = builtin.unrealized_conversion_cast %y : !X to tuple<!X>
    %e = "relax.call_packed"(%t) {func = "never"} : (tuple<!X>) -> !X
    "relax.yield"(%e) : (!X) -> ()
  }) : (tensor<i1>) -> !X
  %q = builtin.unrealized_conversion_cast %r, %s : !X, !S to tuple<!X, !S>
  return %q : tuple<!X, !S>
}

// -----

// A prim func called on constants is compiled and run.

#n = affine_map<()[s0] -> (s0)>
!T = tensor<2xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (2)>>>

func.func private @double(%a: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n"], #n>},
                          %b: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["n"], #n>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], #n>} : () -> index
  %zero = arith.constant 0 : index
  "tir.for"(%zero, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%vi: index):
      %v = memref.load %a[%vi] : memref<?xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %b[%vi] : memref<?xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[C:.*]] = "relax.constant"() {value = dense_resource<[[NAME:.*]]> : tensor<2xf32>}
// CHECK-NEXT: return %[[C]]
// CHECK: [[NAME]]: "0x040000000000804000000041"
func.func @main() -> !T attributes {relax.function} {
  %a = "relax.constant"() {value = dense<[1.0, 2.0]> : !T} : () -> !T
  %s = "relax.shape_expr"() : () -> !S
  %t = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  %b = "relax.call_tir"(%s, %t) {callee = @double} : (!S, tuple<!T>) -> !T
  %u = builtin.unrealized_conversion_cast %b : !T to tuple<!T>
  %c = "relax.call_tir"(%s, %u) {callee = @double} : (!S, tuple<!T>) -> !T
  return %c : !T
}

// -----

// A constant that a dataflow block gives is one after it, too.

!T = tensor<2xf32>

// CHECK-LABEL: func.func @out_of_dataflow
// CHECK: "relax.dataflow"
// CHECK: %[[C:.*]] = "relax.constant"() {value = {{.*}} : tensor<2xf32>}
// CHECK: "relax.subtract"(%{{.*}}, %[[C]])
func.func @out_of_dataflow(%x: !T) -> !T attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %a = "relax.constant"() {value = dense<1.0> : !T} : () -> !T
    %b = "relax.add"(%a, %a) : (!T, !T) -> !T
    %y = "relax.exp"(%x) : (!T) -> !T
    %t = builtin.unrealized_conversion_cast %b, %y : !T, !T to tuple<!T, !T>
    "relax.output"(%t) : (tuple<!T, !T>) -> ()
  }) : () -> tuple<!T, !T>
  %1 = "relax.tuple_get_item"(%0) {index = 0 : i64} : (tuple<!T, !T>) -> !T
  %2 = "relax.tuple_get_item"(%0) {index = 1 : i64} : (tuple<!T, !T>) -> !T
  %3 = "relax.subtract"(%2, %1) : (!T, !T) -> !T
  return %3 : !T
}
