// RUN: relax-opt %s --legalize-ops | FileCheck %s

#q = #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 8, 64)>>
#k = #relax.dims<["m"], affine_map<()[s0] -> (2, s0, 8, 64)>>
#g = #relax.dims<["m"], affine_map<()[s0] -> (2, s0, 2, 64)>>

func.func @f(%q: tensor<2x?x8x64xf16, #q>, %k: tensor<2x?x8x64xf16, #k>) -> tensor<2x?x8x64xf16, #q> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none, %none) {causal_mask = "TopLeft"} : (tensor<2x?x8x64xf16, #q>, tensor<2x?x8x64xf16, #k>, tensor<2x?x8x64xf16, #k>, tuple<>, tuple<>) -> tensor<2x?x8x64xf16, #q>
  return %0 : tensor<2x?x8x64xf16, #q>
}

// Scores and sums are kept in float32.
// CHECK-LABEL: func.func private @attention(
// CHECK: memref.alloc(%{{.*}}) {tir.dtype = "float32", tir.name = "Scores"
// CHECK: block_name = "products", iter_types = ["spatial", "spatial", "spatial", "spatial", "reduction"]
// CHECK: arith.cmpi sle
// CHECK: block_name = "scores"
// CHECK: block_name = "peak"
// CHECK: math.exp
// CHECK: block_name = "exps"
// CHECK: block_name = "total"
// CHECK: block_name = "softmax"
// CHECK: block_name = "attention", iter_types = ["spatial", "spatial", "spatial", "spatial", "reduction"]
// CHECK: block_name = "cast"

// Four heads of queries to each of keys: a loop of their own, over a group.
// CHECK-LABEL: func.func private @attention1(
// CHECK: tir.name = "Scores", tir.shape = #relax.dims<["m", "n"], #{{.*}}>} : memref<2x2x4x?x?xf32>
// CHECK: arith.muli
// CHECK: block_name = "products", iter_types = ["spatial", "spatial", "spatial", "spatial", "spatial", "reduction"]

func.func @grouped(%q: tensor<2x?x8x64xf16, #q>, %k: tensor<2x?x2x64xf16, #g>) -> tensor<2x?x8x64xf16, #q> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none, %none) : (tensor<2x?x8x64xf16, #q>, tensor<2x?x2x64xf16, #g>, tensor<2x?x2x64xf16, #g>, tuple<>, tuple<>) -> tensor<2x?x8x64xf16, #q>
  return %0 : tensor<2x?x8x64xf16, #q>
}
