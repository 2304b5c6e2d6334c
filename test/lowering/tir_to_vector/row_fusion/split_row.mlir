// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=2" --legalize-ops --lower-tir | FileCheck %s

// A single row is split among threads, who wait for the sums of each other's pieces.
// CHECK-LABEL: func.func private @softmax(
// CHECK-COUNT-1: omp.parallel
// CHECK: omp.barrier
// CHECK-NOT: omp.parallel

func.func @f(%x: tensor<1x32000xf32>) -> tensor<1x32000xf32> attributes {relax.function} {
  %0 = "relax.softmax"(%x) {axis = -1 : i64} : (tensor<1x32000xf32>) -> tensor<1x32000xf32>
  return %0 : tensor<1x32000xf32>
}
