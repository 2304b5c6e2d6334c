# RUN: %PYTHON %s | FileCheck %s
"""Pass `free-allocs`: what a block allocates it frees, unless someone else does."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: func.func @in_a_loop(
# CHECK: scf.for
# CHECK: [[A:%.*]] = memref.alloc()
# CHECK: memref.store
# CHECK-NEXT: memref.dealloc [[A]]
# CHECK-LABEL: func.func @freed_already(
# CHECK-COUNT-1: memref.dealloc
# CHECK-NOT: memref.dealloc
# CHECK-LABEL: func.func @returned(
# CHECK-NOT: memref.dealloc
TEXT = """
func.func @in_a_loop(%lb: index, %ub: index, %v: f32) {
  scf.for %i = %lb to %ub step %ub {
    %0 = memref.alloc() : memref<4xf32>
    memref.store %v, %0[%i] : memref<4xf32>
  }
  return
}
func.func @freed_already() {
  %0 = memref.alloc() : memref<4xf32>
  memref.dealloc %0 : memref<4xf32>
  return
}
func.func @returned() -> memref<?xf32> {
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.cast %0 : memref<4xf32> to memref<?xf32>
  return %1 : memref<?xf32>
}"""

with make_context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    run_step(module.operation, "free-allocs")
    assert module.operation.verify()
    print(module)
