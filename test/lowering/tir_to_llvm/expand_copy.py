# RUN: %PYTHON %s | FileCheck %s
"""Pass `expand-copy`: only copies that are not one run of memory become loops."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: func.func @strided(
# CHECK: memref.dim
# CHECK: scf.for
# CHECK: scf.for
# CHECK: [[V:%.*]] = memref.load
# CHECK: memref.store [[V]],
# CHECK-NOT: memref.copy
# CHECK-LABEL: func.func @contiguous(
# CHECK: memref.copy
# CHECK-NOT: scf.for
TEXT = """
func.func @strided(%a: memref<?x4xf32, strided<[8, 1]>>, %b: memref<?x4xf32>) {
  memref.copy %a, %b : memref<?x4xf32, strided<[8, 1]>> to memref<?x4xf32>
  return
}
func.func @contiguous(%a: memref<?x4xf32>, %b: memref<?x4xf32>) {
  memref.copy %a, %b : memref<?x4xf32> to memref<?x4xf32>
  return
}"""

with make_context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    run_step(module.operation, "expand-copy")
    assert module.operation.verify()
    print(module)
