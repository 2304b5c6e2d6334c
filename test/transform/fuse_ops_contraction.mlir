// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce --split-input-file | FileCheck %s

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
