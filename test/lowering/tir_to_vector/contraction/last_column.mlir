// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --symbol-dce --lower-tir | FileCheck %s

!A = tensor<60x100xf32>
!B = tensor<100x33xf32>
!C = tensor<60x33xf32>

// Whole vectors leave one column, which is copied. Lanes run along k for it, and the last four steps
// have masks.

// CHECK-LABEL: func.func private @matmul(
// CHECK: %[[COLUMN:.*]] = memref.alloca{{.*}} memref<109xf32>
// CHECK: %{{.*}}:12 = scf.for
// CHECK-COUNT-24: vector.fma
// CHECK: %{{.*}}:6 = scf.for %{{.*}} = %c0{{.*}} to %c96{{.*}} step %c8{{.*}}
// CHECK: vector.load %[[COLUMN]]
// CHECK-COUNT-6: vector.fma
// CHECK: vector.maskedload %[[COLUMN]]
// CHECK-COUNT-6: vector.reduction <add>
func.func @main(%a: !A, %b: !B) -> !C attributes {relax.function} {
  %0 = "relax.matmul"(%a, %b) : (!A, !B) -> !C
  return %0 : !C
}
