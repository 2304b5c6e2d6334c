# RUN: %PYTHON %s | FileCheck %s
"""The steps from memref to the LLVM dialect, and what more than one thread adds to them."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import PassError
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step, run_steps, steps_for

TARGET = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
TEXT = """
func.func @f(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = memref.load %a[%i] : memref<?xf32>
    %1 = math.erf %0 : f32
    memref.store %1, %a[%i] : memref<?xf32>
    scf.reduce
  }
  return
}"""

# CHECK-LABEL: threads 1
# CHECK: llvm.func @f(
# CHECK-NOT: omp.
# CHECK: llvm.cond_br
# CHECK-LABEL: threads 2
# CHECK: omp.parallel
# CHECK: omp.wsloop
for threads in (1, 2):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        target = TARGET.with_threads(threads)
        seconds = run_steps(module.operation, target)
        assert set(seconds) == {*steps_for(target), "verify"}
        print("threads", threads)
        print(module)

# CHECK-LABEL: failure
# CHECK: pass 'bool-to-byte' failed: 'memref.atomic_rmw' on a buffer of i1 is not supported
print("failure")
FAILING = """
func.func @f(%a: memref<4xi1>, %i: index, %t: i1) {
  %0 = memref.atomic_rmw assign %t, %a[%i] : (i1, memref<4xi1>) -> i1
  return
}"""
with make_context(), ir.Location.unknown():
    module = ir.Module.parse(FAILING)
    try:
        run_step(module.operation, "bool-to-byte", TARGET)
    except PassError as error:
        print(error)
