// RUN: relax-opt %s --legalize-ops | FileCheck %s

#q = #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 8, 64)>>
#k = #relax.dims<["m"], affine_map<()[s0] -> (2, s0, 8, 64)>>

func.func @f(%q: tensor<2x?x8x64xf16, #q>, %k: tensor<2x?x8x64xf16, #k>) -> tensor<2x?x8x64xf16, #q> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none) {causal_mask = "TopLeft"} : (tensor<2x?x8x64xf16, #q>, tensor<2x?x8x64xf16, #k>, tensor<2x?x8x64xf16, #k>, tuple<>) -> tensor<2x?x8x64xf16, #q>
  return %0 : tensor<2x?x8x64xf16, #q>
}

// Scores and sums are kept in float32; the mask is made once for all heads.
// CHECK-LABEL: func.func private @attention(
// CHECK: memref.alloc(%{{.*}}) {tir.dtype = "float32", tir.name = "Scores"
// CHECK: block_name = "products", iter_types = ["spatial", "spatial", "spatial", "spatial", "reduction"]
// CHECK: memref.alloc(%{{.*}}) {tir.dtype = "float32", tir.name = "Mask"
// CHECK: block_name = "mask", iter_types = ["spatial", "spatial"]
// CHECK: block_name = "scores"
// CHECK: block_name = "peak"
// CHECK: math.exp
// CHECK: block_name = "powers"
// CHECK: block_name = "total"
// CHECK: block_name = "softmax"
// CHECK: block_name = "attention", iter_types = ["spatial", "spatial", "spatial", "spatial", "reduction"]
// CHECK: block_name = "cast"
