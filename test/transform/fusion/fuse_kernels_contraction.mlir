// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --split-input-file | FileCheck %s

!X = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s1, s0)>>>
!W = tensor<?x?xf32, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s0, s1)>>>
!B = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!Y = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0, s1)>>>

// What follows a product of matrices joins its kernel, as nests of their own over its results.

// CHECK-LABEL: func.func @layer
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:matmul_add_relu]]}
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @layer(%x: !X, %w: !W, %b: !B) -> !Y attributes {relax.function} {
  %0 = "relax.matmul"(%x, %w) : (!X, !W) -> !Y
  %1 = "relax.add"(%0, %b) : (!Y, !B) -> !Y
  %2 = "relax.relu"(%1) : (!Y) -> !Y
  return %2 : !Y
}

// CHECK: func.func private @[[KERNEL]](
// CHECK-DAG: memref.alloc{{.*}}tir.name = "between0"
// CHECK-DAG: memref.alloc{{.*}}tir.name = "between1"
// CHECK: iter_types = ["spatial", "spatial", "reduction"]
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: return

// -----

!X = tensor<8x8xf32>

// A product that something else needs too stays a kernel of its own.

// CHECK-LABEL: func.func @kept
// CHECK: %[[Y:.*]] = "relax.call_tir"{{.*}}@matmul}
// CHECK: "relax.call_tir"{{.*}}@exp}
func.func @kept(%x: !X) -> tuple<!X, !X> attributes {relax.function} {
  %0 = "relax.matmul"(%x, %x) : (!X, !X) -> !X
  %1 = "relax.exp"(%0) : (!X) -> !X
  %2 = builtin.unrealized_conversion_cast %0, %1 : !X, !X to tuple<!X, !X>
  return %2 : tuple<!X, !X>
}

// -----

!X = tensor<?x?x?xf32, #relax.dims<["b", "k", "m"], affine_map<()[s0, s1, s2] -> (s0, s2, s1)>>>
!W = tensor<?x?x?xf32, #relax.dims<["b", "k", "n"], affine_map<()[s0, s1, s2] -> (s0, s2, s1)>>>
!T = tensor<?x?x?xf32, #relax.dims<["b", "k", "n"], affine_map<()[s0, s1, s2] -> (s0, s1, s2)>>>
!Y = tensor<?x?x?xf32, #relax.dims<["b", "m", "n"], affine_map<()[s0, s1, s2] -> (s0, s1, s2)>>>

// A product reads a permuted operand where it lies, and what follows still joins it.

// CHECK-LABEL: func.func @turned
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:permute_dims_matmul_relu]]}
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @turned(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %0 = "relax.permute_dims"(%w) {axes = array<i64: 0, 2, 1>} : (!W) -> !T
  %1 = "relax.matmul"(%x, %0) : (!X, !T) -> !Y
  %2 = "relax.relu"(%1) : (!Y) -> !Y
  return %2 : !Y
}

// CHECK: func.func private @[[KERNEL]](%arg0: {{.*}}, %[[W:arg1]]: 
// CHECK: ^bb0(%[[I:.*]]: index, %[[M:.*]]: index, %[[N:.*]]: index, %[[K:.*]]: index):
// CHECK: "tir.reads"(%[[W]]) {map = #{{.*}}}
// CHECK: memref.load %[[W]][%[[I]], %[[N]], %[[K]]]

// -----

!X = tensor<8x8x8xf32>

// Both operands at once, and one that is both.

// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: "relax.call_tir"
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @both(%x: !X, %y: !X) -> !X attributes {relax.function} {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (!X) -> !X
  %1 = "relax.permute_dims"(%y) {axes = array<i64: 1, 0, 2>} : (!X) -> !X
  %2 = "relax.matmul"(%0, %1) : (!X, !X) -> !X
  %3 = "relax.permute_dims"(%2) {axes = array<i64: 0, 2, 1>} : (!X) -> !X
  %4 = "relax.matmul"(%3, %3) : (!X, !X) -> !X
  return %4 : !X
}

// -----

!X = tensor<8x8x8xf32>

// Not one whose last axis is none of a matrix, and not one that something else needs too.

// CHECK-LABEL: func.func @apart
// CHECK: "relax.call_tir"{{.*}}@permute_dims
// CHECK: "relax.call_tir"{{.*}}@matmul
// CHECK: "relax.call_tir"{{.*}}@permute_dims
// CHECK: "relax.call_tir"{{.*}}@matmul
func.func @apart(%x: !X, %y: !X) -> tuple<!X, !X> attributes {relax.function} {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 2, 1, 0>} : (!X) -> !X
  %1 = "relax.matmul"(%0, %y) : (!X, !X) -> !X
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 2, 1>} : (!X) -> !X
  %3 = "relax.matmul"(%2, %y) : (!X, !X) -> !X
  %4 = builtin.unrealized_conversion_cast %2, %3 : !X, !X to tuple<!X, !X>
  return %4 : tuple<!X, !X>
}
