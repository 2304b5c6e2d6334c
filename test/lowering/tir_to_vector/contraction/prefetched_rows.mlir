// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --symbol-dce --lower-tir --split-input-file | FileCheck %s

!A = tensor<60x640xf32>
!B = tensor<640x49xf32>
!C = tensor<60x49xf32>

// Rows of A that few tiles reuse come from memory: four tiles of 640 steps prefetch the next six rows,
// two elements of them with each step, beside what they prefetch of B.

// CHECK-LABEL: func.func private @matmul(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<60x640xf32>
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[A]]
// CHECK: memref.prefetch %{{.*}}, read, locality<3>
// CHECK: memref.prefetch %[[ROWS]][%{{.*}}], read, locality<2>
// CHECK: vector.fma
func.func @few(%a: !A, %b: !B) -> !C attributes {relax.function} {
  %0 = "relax.matmul"(%a, %b) : (!A, !B) -> !C
  return %0 : !C
}

// -----

!A = tensor<60x640xf32>
!B = tensor<640x512xf32>
!C = tensor<60x512xf32>

// CHECK-LABEL: func.func private @matmul(
// CHECK-NOT: locality<2>
func.func @many(%a: !A, %b: !B) -> !C attributes {relax.function} {
  %0 = "relax.matmul"(%a, %b) : (!A, !B) -> !C
  return %0 : !C
}
