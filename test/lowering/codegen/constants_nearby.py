# RUN: %PYTHON %s | FileCheck %s
"""Constants of x86-64 code are addressed from where the code is, not through registers."""

from relax_mlir.lowering.codegen.llvm.optimize import optimize
from relax_mlir.lowering.target.target import Target

# CHECK-LABEL: scaled:
# CHECK-NOT: GOTOFF
# CHECK: {{v?mulss}} {{.*}}(%rip)
# CHECK: callq outside@PLT
SOURCE = """
declare void @outside(float)
define void @scaled(float %x) {
  %y = fmul float %x, 7.5
  call void @outside(float %y)
  call void @outside(float %x)
  ret void
}
"""
TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512")
module, machine = optimize(SOURCE, TARGET)
print(machine.emit_assembly(module).replace("\t", " "))
