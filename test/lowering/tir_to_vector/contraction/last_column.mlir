// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --symbol-dce --lower-tir --split-input-file | FileCheck %s

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

// -----

!A = tensor<60x100xf32>
!B = tensor<100x?xf32, #relax.dims<["n"], affine_map<()[s0] -> (100, s0)>>>
!C = tensor<60x?xf32, #relax.dims<["n"], affine_map<()[s0] -> (60, s0)>>>

// Run time knows whether one is left: then it is copied, and else the last columns have other tiles.

// CHECK-LABEL: func.func private @matmul(
// CHECK: %[[COLUMN:.*]] = memref.alloca{{.*}} memref<109xf32>
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %{{.*}}, %c1{{.*}} : index
// CHECK-NEXT: scf.if %[[ONE]]
// CHECK: memref.store %{{.*}}, %[[COLUMN]]
// CHECK: scf.if
// CHECK: %{{.*}}:6 = scf.for %{{.*}} = %c0{{.*}} to %c96{{.*}} step %c8{{.*}}
// CHECK-NEXT: vector.load %[[COLUMN]]
// CHECK: vector.maskedload %[[COLUMN]]
// CHECK-COUNT-6: vector.reduction <add>
// CHECK: else
// CHECK: %{{.*}}:6 = scf.for %{{.*}} = %c0{{.*}} to %c100{{.*}} step %c2{{.*}}
// CHECK: %{{.*}}:12 = scf.for
func.func @main(%a: !A, %b: !B) -> !C attributes {relax.function} {
  %0 = "relax.matmul"(%a, %b) : (!A, !B) -> !C
  return %0 : !C
}
