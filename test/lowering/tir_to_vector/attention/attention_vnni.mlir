// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --lower-tir | FileCheck %s --check-prefixes=ALL,DOT
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir | FileCheck %s --check-prefixes=ALL,WIDE

// Keys are packed in pairs, for a dot-product instruction; exponentials are rounded to pairs.
// ALL-LABEL: func.func private @attention(
// DOT: vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xf32>
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// DOT: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// WIDE-NOT: llvm.call_intrinsic
// WIDE: vector.fma

func.func @f(%q: tensor<1x77x12x64xbf16>) -> tensor<1x77x12x64xbf16> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<1x77x12x64xbf16>, tensor<1x77x12x64xbf16>, tensor<1x77x12x64xbf16>, tuple<>, tuple<>) -> tensor<1x77x12x64xbf16>
  return %0 : tensor<1x77x12x64xbf16>
}

// A single query reads keys and values as they are stored, and widens them in registers.
// ALL-LABEL: func.func private @attention1(
// ALL-NOT: llvm.call_intrinsic
// ALL: vector.load %{{.*}} : memref<{{.*}}xbf16{{.*}}>, vector<16xbf16>
// ALL: arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// ALL: vector.fma

func.func @g(%q: tensor<1x1x12x64xbf16>, %k: tensor<1x512x12x64xbf16>) -> tensor<1x1x12x64xbf16> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none, %none) : (tensor<1x1x12x64xbf16>, tensor<1x512x12x64xbf16>, tensor<1x512x12x64xbf16>, tuple<>, tuple<>) -> tensor<1x1x12x64xbf16>
  return %0 : tensor<1x1x12x64xbf16>
}

// Sums over blocks of keys are kept, and narrowed row by row behind the last, not by tiles.
// ALL-LABEL: func.func private @attention2(
// WIDE-NOT: arith.truncf
// WIDE: memref.load
// WIDE: scf.for
// WIDE: scf.for
// WIDE: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// WIDE-NOT: arith.truncf
// WIDE: return

func.func @h(%q: tensor<1x99x2x64xbf16>, %k: tensor<1x600x2x64xbf16>) -> tensor<1x99x2x64xbf16> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none, %none) : (tensor<1x99x2x64xbf16>, tensor<1x600x2x64xbf16>, tensor<1x600x2x64xbf16>, tuple<>, tuple<>) -> tensor<1x99x2x64xbf16>
  return %0 : tensor<1x99x2x64xbf16>
}
