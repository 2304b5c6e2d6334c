// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver4" --legalize-ops --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir | FileCheck %s --check-prefix=TWO

#s = #relax.dims<["d", "n"], affine_map<()[s0, s1] -> (2, s1, 8, s0)>>

// Half of the pairs of products of bounded scores use Winograd's dot product, whose additions go
// beside FMAs: each half step uses it for one vector of keys, with one of the other two elements of
// eleven rows at a stride of 80. The other scores are plain dot products.
// CHECK-LABEL: func.func private @attention(
// CHECK: math.copysign
// CHECK: scf.for {{.*}} step %c4{{.*}} -> (vector<16xf32>,
// CHECK: llvm.inline_asm "\0Avaddps 0($24){1to16}, $26, $22
// CHECK-SAME: vaddps 4($24){1to16}, $25, $23
// CHECK-SAME: vfmadd231ps $22, $23, $0
// CHECK-SAME: vfmadd231ps 8($24){1to16}, $27, $0
// CHECK-SAME: vfmadd231ps 8($24){1to16}, $28, $1
// CHECK-SAME: vaddps 3200($24){1to16}, $26, $22
// CHECK: llvm.inline_asm "\0Avaddps 0($24){1to16}, $26, $22
// CHECK-SAME: vfmadd231ps $22, $23, $1\0Avfmadd231ps 12($24){1to16}, $27, $0
// CHECK: scf.for
// CHECK: vector.fma

// TWO-NOT: llvm.inline_asm "{{[^"]}}
// TWO-NOT: math.copysign

func.func @f(%q: tensor<1x240x12x64xf32>) -> tensor<1x240x12x64xf32> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<1x240x12x64xf32>, tensor<1x240x12x64xf32>, tensor<1x240x12x64xf32>, tuple<>, tuple<>) -> tensor<1x240x12x64xf32>
  return %0 : tensor<1x240x12x64xf32>
}

// Not for a dynamic head dimension.
// CHECK-LABEL: func.func private @attention1(
// CHECK-NOT: llvm.inline_asm "{{[^"]}}

func.func @g(%q: tensor<2x?x8x?xf32, #s>) -> tensor<2x?x8x?xf32, #s> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<2x?x8x?xf32, #s>, tensor<2x?x8x?xf32, #s>, tensor<2x?x8x?xf32, #s>, tuple<>, tuple<>) -> tensor<2x?x8x?xf32, #s>
  return %0 : tensor<2x?x8x?xf32, #s>
}

// Not for a head dimension that is no multiple of four, nor for scores with a bias.
// CHECK-LABEL: func.func private @attention2(
// CHECK-NOT: llvm.inline_asm "{{[^"]}}

func.func @h(%q: tensor<1x240x12x62xf32>) -> tensor<1x240x12x62xf32> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<1x240x12x62xf32>, tensor<1x240x12x62xf32>, tensor<1x240x12x62xf32>, tuple<>, tuple<>) -> tensor<1x240x12x62xf32>
  return %0 : tensor<1x240x12x62xf32>
}
