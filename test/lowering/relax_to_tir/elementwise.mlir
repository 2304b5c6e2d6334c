// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[ID2:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (0, 0)>

// CHECK-LABEL: func.func @call(
// CHECK-SAME: %[[X:[a-z0-9]+]]:
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"]
// CHECK-NEXT: %[[A:.*]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: %[[Y:.*]] = "relax.call_tir"(%[[S]], %[[A]]) {callee = @relu}
// CHECK-NEXT: return %[[Y]]
func.func @call(%x: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {relax.function} {
  %y = "relax.relu"(%x) : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  return %y : tensor<?xf32, #n>
}

func.func @broadcasts(%x: tensor<?x?xf32, #nm>, %b: tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>, %c: tensor<1x1xf32>) -> tensor<?x?xf32, #nm> attributes {relax.function} {
  %y = "relax.add"(%x, %b) : (tensor<?x?xf32, #nm>, tensor<?xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>) -> tensor<?x?xf32, #nm>
  %z = "relax.multiply"(%y, %c) : (tensor<?x?xf32, #nm>, tensor<1x1xf32>) -> tensor<?x?xf32, #nm>
  return %z : tensor<?x?xf32, #nm>
}

func.func @dtypes(%a: tensor<4xi32>, %b: tensor<4xui8>, %c: tensor<4xi1>, %d: tensor<4xf16>) -> tuple<> attributes {relax.function} {
  %0 = "relax.floor_divide"(%a, %a) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = "relax.less"(%b, %b) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %2 = "relax.add"(%c, %c) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %3 = "relax.gelu"(%d) : (tensor<4xf16>) -> tensor<4xf16>
  %4 = "relax.astype"(%b) {dtype = "float32"} : (tensor<4xui8>) -> tensor<4xf32>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

func.func @numbers(%a: tensor<4xf32>, %b: tensor<4xi32>) -> tuple<tensor<1xf32>> attributes {relax.function} {
  %c = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %d = "relax.constant"() {value = dense<7> : tensor<1x1xi32>} : () -> tensor<1x1xi32>
  %w = "relax.constant"() {value = dense<2.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "relax.subtract"(%c, %a) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.maximum"(%b, %d) : (tensor<4xi32>, tensor<1x1xi32>) -> tensor<1x4xi32>
  %2 = "relax.mod"(%w, %w) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %r = builtin.unrealized_conversion_cast %w : tensor<1xf32> to tuple<tensor<1xf32>>
  return %r : tuple<tensor<1xf32>>
}

// One serial nest, one block; accesses are declared as maps of the block's iterators.
// CHECK-LABEL: func.func private @relu(
// CHECK-SAME: %[[IN:.*]]: memref<?xf32> {tir.dtype = "float32", tir.name = "A", tir.shape = #relax.dims<["n"], #{{.*}}>}, %[[OUT:.*]]: memref<?xf32> {tir.dtype = "float32", tir.name = "Out"
// CHECK-SAME: attributes {tir.prim_func}
// CHECK: %[[N:.*]] = "tir.symbol"() {value = #relax.dims<["n"]
// CHECK: "tir.for"(%{{.*}}, %[[N]]) ({
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK-NEXT: "tir.block"(%[[I]], %[[N]]) ({
// CHECK-NEXT: ^bb0(%[[V:.*]]: index):
// CHECK-NEXT: "tir.reads"(%[[IN]]) {map = #[[ID]]}
// CHECK-NEXT: "tir.writes"(%[[OUT]]) {map = #[[ID]]}
// CHECK-NEXT: %[[E:.*]] = memref.load %[[IN]][%[[V]]]
// CHECK: %[[R:.*]] = arith.maximumf %[[E]]
// CHECK-NEXT: memref.store %[[R]], %[[OUT]][%[[V]]]
// CHECK-NEXT: "tir.yield"
// CHECK: block_name = "relu", iter_types = ["spatial"]

// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32> {{.*}}, %[[B:[a-z0-9]+]]: memref<?xf32> {{.*}}, %[[OUT:[a-z0-9]+]]:
// CHECK: "tir.reads"(%[[A]]) {map = #[[ID2]]}
// CHECK-NEXT: "tir.reads"(%[[B]]) {map = #[[ROW]]}
// CHECK-NEXT: "tir.writes"(%[[OUT]]) {map = #[[ID2]]}
// CHECK: arith.addf

// CHECK-LABEL: func.func private @multiply(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?x?xf32> {{.*}}, %[[B:[a-z0-9]+]]: memref<1x1xf32>
// CHECK: "tir.reads"(%[[B]]) {map = #[[ONE]]}

// No divisor ends the process: 0 and -1 never reach the division.
// CHECK-LABEL: func.func private @floor_divide(
// CHECK: %[[Z:.*]] = arith.cmpi eq, %[[D:.*]], %c0_i32
// CHECK: %[[M:.*]] = arith.cmpi eq, %[[D]], %c-1_i32
// CHECK: %[[T:.*]] = arith.ori %[[Z]], %[[M]]
// CHECK: %[[SAFE:.*]] = arith.select %[[T]], %c1_i32, %[[D]]
// CHECK: arith.floordivsi %{{.*}}, %[[SAFE]]

// Unsigned comparisons for unsigned dtypes; a bool is a byte in memory.
// CHECK-LABEL: func.func private @less(
// CHECK-SAME: memref<4xi8> {tir.dtype = "uint8"
// CHECK-SAME: memref<4xi8> {tir.dtype = "bool", tir.name = "Out"
// CHECK: %[[C:.*]] = arith.cmpi ult
// CHECK-NEXT: arith.extui %[[C]] : i1 to i8

// The sum of bools is "or".
// CHECK-LABEL: func.func private @add1(
// CHECK: arith.ori

// Half precision is widened once around functions of several steps.
// CHECK-LABEL: func.func private @gelu(
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK-NOT: truncf
// CHECK: math.erf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: memref.store

// CHECK-LABEL: func.func private @astype(
// CHECK: arith.uitofp

// A constant of one element is a number in the kernel, unless it goes where it may be written to.
// CHECK-LABEL: func.func private @subtract(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4xf32> {{[^%]*}}, %[[OUT:[a-z0-9]+]]: memref<4xf32> {{[^%]*}}) attributes
// CHECK: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: arith.subf %[[C]], %

// CHECK-LABEL: func.func private @maximum(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<4xi32> {{[^%]*}}, %{{[a-z0-9]+}}: memref<1x4xi32> {{[^%]*}}) attributes
// CHECK: arith.maxsi %{{.*}}, %c7_i32

// CHECK-LABEL: func.func private @mod(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1xf32> {{[^%]*}}, %{{[a-z0-9]+}}: memref<1xf32> {{[^%]*}}, %{{[a-z0-9]+}}: memref<1xf32>
