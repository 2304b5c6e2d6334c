// RUN: relax-opt %s --legalize-ops | FileCheck %s

#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>
#n8 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 8)>>

// CHECK-DAG: #[[LHS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[RHS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[BLHS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[BRHS:.*]] = affine_map<(d0, d1, d2, d3) -> (0, d3, d2)>

func.func @plain(%x: tensor<?x4xf32, #n4>, %w: tensor<4x8xf32>) -> tensor<?x8xf32, #n8> attributes {relax.function} {
  %y = "relax.matmul"(%x, %w) : (tensor<?x4xf32, #n4>, tensor<4x8xf32>) -> tensor<?x8xf32, #n8>
  return %y : tensor<?x8xf32, #n8>
}

func.func @batched(%x: tensor<2x3x4xf32>, %w: tensor<1x4x5xf32>) -> tensor<2x3x5xf32> attributes {relax.function} {
  %y = "relax.matmul"(%x, %w) : (tensor<2x3x4xf32>, tensor<1x4x5xf32>) -> tensor<2x3x5xf32>
  return %y : tensor<2x3x5xf32>
}

func.func @half(%x: tensor<3x4xf16>, %w: tensor<4xf16>) -> tensor<3xf16> attributes {relax.function} {
  %y = "relax.matmul"(%x, %w) : (tensor<3x4xf16>, tensor<4xf16>) -> tensor<3xf16>
  return %y : tensor<3xf16>
}

// Rows and columns are spatial, the inner dimension is reduced.
// CHECK-LABEL: func.func private @matmul(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x4xf32> {{.*}}, %[[B:[a-z0-9]+]]: memref<4x8xf32> {{.*}}, %[[C:[a-z0-9]+]]: memref<?x8xf32>
// CHECK: "tir.block"
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index, %[[K:.*]]: index):
// CHECK-NEXT: "tir.reads"(%[[C]]) {map = #[[OUT]]}
// CHECK-NEXT: "tir.reads"(%[[A]]) {map = #[[LHS]]}
// CHECK-NEXT: "tir.reads"(%[[B]]) {map = #[[RHS]]}
// CHECK-NEXT: "tir.writes"(%[[C]]) {map = #[[OUT]]}
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[C]][%[[I]], %[[J]]]
// CHECK: }, {
// CHECK: memref.store %cst, %[[C]]
// CHECK: block_name = "matmul", iter_types = ["spatial", "spatial", "reduction"]

// CHECK-LABEL: func.func private @matmul1(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<2x3x4xf32> {{.*}}, %[[B:[a-z0-9]+]]: memref<1x4x5xf32>
// CHECK: "tir.reads"(%[[A]]) {map = #[[BLHS]]}
// CHECK: "tir.reads"(%[[B]]) {map = #[[BRHS]]}

// Half precision is summed in float32 and rounded once.
// CHECK-LABEL: func.func private @matmul2(
// CHECK: memref.alloc() {tir.dtype = "float32", tir.name = "Sum"
// CHECK: arith.extf
// CHECK: block_name = "matmul", iter_types = ["spatial", "reduction"]
// CHECK: arith.truncf
// CHECK: block_name = "cast", iter_types = ["spatial"]
