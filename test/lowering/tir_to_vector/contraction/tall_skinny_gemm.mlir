// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --lower-tir | FileCheck %s

// Four rows at a time are read along k, and multiplied with three columns that are copied as rows.

// CHECK-LABEL: func.func private @matmul(
// CHECK: memref.alloc{{.*}} memref<384xf32>
// CHECK: %{{.*}}:12 = scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>,
// CHECK-COUNT-12: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
func.func @main(%x: tensor<64x128xf32>, %w: tensor<128x3xf32>) -> tensor<64x3xf32> attributes {relax.function} {
  %0 = "relax.matmul"(%x, %w) : (tensor<64x128xf32>, tensor<128x3xf32>) -> tensor<64x3xf32>
  return %0 : tensor<64x3xf32>
}
