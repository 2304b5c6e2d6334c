// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=2" --legalize-ops --lower-tir | FileCheck %s --check-prefix=THREADS
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=8" --legalize-ops --lower-tir | FileCheck %s --check-prefix=MANY

#s = #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 8, 64)>>

// One kernel, and no buffer with a place for every score. Tiles have 11 queries, of which 7 make 77.
// CHECK-LABEL: func.func private @attention(
// CHECK-NOT: "tir.
// CHECK-NOT: memref<1x12x77x77xf32>
// CHECK: vector.shuffle
// CHECK: scf.for {{.*}} -> (vector<16xf32>,
// CHECK-COUNT-11: vector.broadcast
// CHECK: vector.fma
// CHECK-NOT: math.exp
// CHECK: arith.shli
// CHECK: vector.fma

// The heads are split among threads.
// THREADS-LABEL: func.func private @attention(
// THREADS-COUNT-1: omp.parallel
// THREADS-NOT: omp.parallel
// THREADS-LABEL: func.func private @attention1(

func.func @f(%q: tensor<1x77x12x64xf32>) -> tensor<1x77x12x64xf32> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<1x77x12x64xf32>, tensor<1x77x12x64xf32>, tensor<1x77x12x64xf32>, tuple<>, tuple<>) -> tensor<1x77x12x64xf32>
  return %0 : tensor<1x77x12x64xf32>
}

// With a dynamic number of queries there is a branch for few, which reads keys and values in place.
// CHECK-LABEL: func.func private @attention1(
// CHECK: scf.if
// CHECK: } else {
// CHECK: vector.fma

func.func @g(%q: tensor<2x?x8x64xf32, #s>) -> tensor<2x?x8x64xf32, #s> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) {causal_mask = "TopLeft"} : (tensor<2x?x8x64xf32, #s>, tensor<2x?x8x64xf32, #s>, tensor<2x?x8x64xf32, #s>, tuple<>, tuple<>) -> tensor<2x?x8x64xf32, #s>
  return %0 : tensor<2x?x8x64xf32, #s>
}

// One query of twelve heads is for eight threads: the bound of a thread's heads is 12 * number / 8.
// MANY-LABEL: func.func private @attention2(
// MANY: %[[HEADS:c12.*]] = arith.constant 12 : index
// MANY: omp.parallel
// MANY: %[[SHARE:.*]] = arith.muli %{{.*}}, %[[HEADS]] : index
// MANY-NEXT: arith.divui %[[SHARE]], %{{.*}} : index

func.func @h(%q: tensor<1x1x12x64xf32>, %k: tensor<1x512x12x64xf32>) -> tensor<1x1x12x64xf32> attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %k, %k, %none, %none) : (tensor<1x1x12x64xf32>, tensor<1x512x12x64xf32>, tensor<1x512x12x64xf32>, tuple<>, tuple<>) -> tensor<1x1x12x64xf32>
  return %0 : tensor<1x1x12x64xf32>
}

// Decode attention loads keys in memory order: a compiler barrier separates them.
// CHECK-LABEL: func.func private @attention2(
// CHECK: vector.fma
// CHECK-COUNT-16: llvm.fence syncscope("singlethread") acq_rel
// CHECK: vector.shuffle

// Where lengths of queries and keys say that no score is far from zero, those of a panel are raised
// behind its tiles, and the largest is not looked for. Where there are few keys that is not worth it.
// CHECK-LABEL: func.func private @attention3(
// CHECK: %[[NEAR:.*]] = arith.cmpf olt, {{.*}} : f32
// CHECK: scf.for {{.*}} -> (vector<16xf32>,
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"
// CHECK: scf.if %[[NEAR]]
// CHECK-LABEL: func.func private @attention4(
// CHECK-NOT: arith.cmpf olt, {{.*}} : f32
// CHECK: return

func.func @near(%q: tensor<1x256x2x64xf32>, %k: tensor<1x77x2x64xf32>) -> (tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>) attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) : (tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tuple<>, tuple<>) -> tensor<1x256x2x64xf32>
  %1 = "relax.attention"(%q, %k, %k, %none, %none) : (tensor<1x256x2x64xf32>, tensor<1x77x2x64xf32>, tensor<1x77x2x64xf32>, tuple<>, tuple<>) -> tensor<1x256x2x64xf32>
  return %0, %1 : tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>
}

// With a causal mask panels that all their queries see are raised; in those behind, scores are
// hidden from the first on that some do not see. With a window no bound is looked for.
// CHECK-LABEL: func.func private @attention5(
// CHECK: %[[NEAR:.*]] = arith.cmpf olt, {{.*}} : f32
// CHECK: arith.maxsi
// CHECK: scf.if
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"
// CHECK: scf.if
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: scf.if %[[NEAR]]
// CHECK-LABEL: func.func private @attention6(
// CHECK-NOT: arith.cmpf olt, {{.*}} : f32
// CHECK: return

func.func @causal(%q: tensor<1x256x2x64xf32>) -> (tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>) attributes {relax.function} {
  %none = builtin.unrealized_conversion_cast to tuple<>
  %0 = "relax.attention"(%q, %q, %q, %none, %none) {causal_mask = "TopLeft"} : (tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tuple<>, tuple<>) -> tensor<1x256x2x64xf32>
  %1 = "relax.attention"(%q, %q, %q, %none, %none) {causal_mask = "BottomRight", window_size = 100 : i64} : (tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>, tuple<>, tuple<>) -> tensor<1x256x2x64xf32>
  return %0, %1 : tensor<1x256x2x64xf32>, tensor<1x256x2x64xf32>
}
