// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,X86
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,COPIED

!A = tensor<?x?xf32, #relax.dims<["k", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!B = tensor<?x?xf32, #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>>
!C = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>

// The rows of a tile at a dynamic stride are read in place, each by a pointer, and the products of one
// row come before the next row is loaded. Targets without register barriers copy rows to a static
// stride.

// ALL-LABEL: func.func private @matmul(
// ALL-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32>
// X86: %[[FLAT:.*]] = memref.collapse_shape %[[A]]
// X86: %[[ROW:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [%{{.*}}], sizes: [%{{.*}}], strides: [1]
// X86: scf.for
// X86: %[[ONE:.*]] = memref.load %[[ROW]][%{{.*}}]
// X86-NEXT: %[[SPLAT:.*]] = vector.broadcast %[[ONE]]
// X86: vector.fma %[[SPLAT]]
// X86: llvm.inline_asm has_side_effects {{.*}} "=v,
// X86: memref.load
// Whole tiles store without masks, and not by way of the rows that a partial one keeps on the stack.
// X86: vector.store %{{.*}} : memref<?xf32{{.*}}>, vector<16xf32>
// X86: vector.maskedstore
// COPIED-NOT: llvm.inline_asm has_side_effects
func.func @main(%a: !A, %b: !B) -> !C attributes {relax.function} {
  %0 = "relax.matmul"(%a, %b) : (!A, !B) -> !C
  return %0 : !C
}
