# RUN: %PYTHON %s | FileCheck %s
"""Branches on what seldom holds have weights in LLVM IR, and others have none."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.math.lane_math import Lanes, choose
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps

TARGET = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
SOURCE = """
func.func @chosen(%x: f32, %often: i1) -> f32 {
  %zero = arith.constant 0.0 : f32
  %is_far = arith.cmpf ogt, %x, %zero : f32
  %both = scf.if %often -> f32 {
    %sum = arith.addf %x, %x : f32
    scf.yield %sum : f32
  } else {
    scf.yield %x : f32
  }
  return %both : f32
}"""


def show() -> None:
    """Print a function of which one branch is seldom taken."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(SOURCE)
        block = module.body.operations[0].regions[0].blocks[0]
        x, end = block.arguments[0], block.operations[len(block.operations) - 1]
        is_far = block.operations[1].results[0]
        with ir.InsertionPoint(end):
            both = Lanes(end.operands[0])
            (far,) = choose(is_far, lambda: [Lanes(x) * both], [both])
        end.operation.operands[0] = far.value
        run_steps(module.operation, TARGET)
        print(to_llvm_ir(module.operation))


# CHECK-LABEL: define float @chosen
# CHECK: fcmp ogt
# CHECK-NOT: llvm.expect
# CHECK: br i1 %{{[0-9]+}}, label %{{[0-9]+}}, label %{{[0-9]+}}{{$}}
# CHECK: br i1 %{{[0-9]+}}, label %[[FAR:[0-9]+]], label %{{[0-9]+}}, !prof ![[WEIGHTS:[0-9]+]]
# CHECK: [[FAR]]:
# CHECK-NEXT: fmul float
# CHECK: ![[WEIGHTS]] = !{!"branch_weights", i32 1, i32 2000}
show()
