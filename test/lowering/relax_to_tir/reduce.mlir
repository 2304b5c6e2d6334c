// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>
#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#n1 = #relax.dims<["m"], affine_map<()[s0] -> (1, s0)>>

// CHECK-DAG: #[[ID2:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[KEPT:.*]] = affine_map<(d0, d1) -> (0, d1)>

func.func @f(%x: tensor<?x?xf32, #nm>, %h: tensor<?xf16, #n>, %i: tensor<4xi8>, %b: tensor<4xi1>) -> tuple<> attributes {relax.function} {
  %0 = "relax.sum"(%x) {axis = array<i64: 1>, keepdims = false} : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #n>
  %1 = "relax.max"(%x) {axis = array<i64: -2>, keepdims = true} : (tensor<?x?xf32, #nm>) -> tensor<1x?xf32, #n1>
  %2 = "relax.mean"(%h) {axis = unit, keepdims = false} : (tensor<?xf16, #n>) -> tensor<f16>
  %3 = "relax.min"(%i) {axis = unit, keepdims = false} : (tensor<4xi8>) -> tensor<i8>
  %4 = "relax.mean"(%i) {axis = unit, keepdims = false} : (tensor<4xi8>) -> tensor<i8>
  %5 = "relax.max"(%b) {axis = unit, keepdims = false} : (tensor<4xi1>) -> tensor<i1>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// CHECK-LABEL: func.func private @sum(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32> {{.*}}, %[[OUT:[a-z0-9]+]]: memref<?xf32>
// CHECK: "tir.reads"(%[[OUT]]) {map = #[[ROW]]}
// CHECK-NEXT: "tir.reads"(%[[A]]) {map = #[[ID2]]}
// CHECK-NEXT: "tir.writes"(%[[OUT]]) {map = #[[ROW]]}
// CHECK: arith.addf
// CHECK: }, {
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: iter_types = ["spatial", "reduction"]
// CHECK-NOT: "tir.block"

// CHECK-LABEL: func.func private @max(
// CHECK: "tir.writes"(%{{.*}}) {map = #[[KEPT]]}
// CHECK: arith.maximumf
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: iter_types = ["reduction", "spatial"]

// CHECK-LABEL: func.func private @mean(
// CHECK: memref.alloc() {tir.dtype = "float32", tir.name = "Acc"
// CHECK: arith.extf
// CHECK: block_name = "finish"
// CHECK-NOT: arith.divsi

// CHECK-LABEL: func.func private @min(
// CHECK: arith.minsi
// CHECK: arith.constant 127 : i8

// The mean of integers is taken in 64 bits, where their sum fits.
// CHECK-LABEL: func.func private @mean1(
// CHECK: memref.alloc() {tir.dtype = "int64"
// CHECK: arith.divsi
// CHECK: arith.trunci

// CHECK-LABEL: func.func private @max1(
// CHECK: arith.ori %{{.*}} : i8
