// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --lower-tir | FileCheck %s

!W = tensor<128x256xf32>

// Packed panels are prefetched: one row, which is limited by memory alone, prefetches into L2
// and reads several panels side by side.

// CHECK-LABEL: func.func private @matmul_packed(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>,
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data
// CHECK-NOT: locality<3>
// CHECK: return
func.func @one(%x: tensor<1x128xf32>) -> tensor<1x256xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) : (tensor<1x128xf32>, !W) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}

// Four rows compute longer on what they load: they prefetch into L1.

// CHECK-LABEL: func.func private @matmul1_packed(
// CHECK-NOT: locality<2>
// CHECK: memref.prefetch {{.*}}, read, locality<3>, data
// CHECK-NOT: locality<2>
// CHECK: return
func.func @four(%x: tensor<4x128xf32>) -> tensor<4x256xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) : (tensor<4x128xf32>, !W) -> tensor<4x256xf32>
  return %0 : tensor<4x256xf32>
}
