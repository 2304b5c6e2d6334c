// RUN: relax-opt %s --legalize-ops --lower-tir | FileCheck %s
// RUN: relax-opt %s --legalize-ops --lower-tir="fma_units=1" | FileCheck %s --check-prefix=ONE

// Rows from beyond the cache are fetched early, but not where the functions of a row take so long
// on a core with one unit for multiply-adds that the hardware has the next one by then.

func.func @f(%x: tensor<4096x1024xf32>) -> tensor<4096x1xf32> attributes {relax.function} {
  %0 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %1 = "relax.variance"(%0) {axis = array<i64: 1>, keepdims = true} : (tensor<4096x1024xf32>) -> tensor<4096x1xf32>
  return %1 : tensor<4096x1xf32>
}

// CHECK-LABEL: func.func private @softmax(
// CHECK: memref.prefetch {{.*}}, read, locality<3>, data
// ONE-LABEL: func.func private @softmax(
// ONE-NOT: memref.prefetch
// ONE-LABEL: func.func private @variance(
// ONE: memref.prefetch {{.*}}, read, locality<3>, data
