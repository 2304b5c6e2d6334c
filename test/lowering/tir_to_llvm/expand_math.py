# RUN: %PYTHON %s | FileCheck %s
"""Pass `expand-math`: what it covers becomes arithmetic, the rest stays for the C library."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: step expand-math{{$}}
# CHECK-LABEL: func.func @vectors(
# CHECK-NOT: math.exp
# CHECK: math.fma {{.*}} : vector<16xf32>
# CHECK-NOT: math.exp
# CHECK: return
# CHECK-LABEL: func.func @half(
# CHECK: [[WIDE:%.*]] = arith.extf %{{.*}} : f16 to f32
# CHECK-NOT: math.tanh
# CHECK: arith.divf
# CHECK: math.copysign
# CHECK: arith.truncf %{{.*}} : f32 to f16
# CHECK-LABEL: func.func @left_alone(
# CHECK: math.sin
# CHECK: math.exp %{{.*}} : f64
# CHECK-LABEL: func.func @doubles_without_an_intrinsic(
# CHECK-NOT: math.log1p
# CHECK: math.log %{{.*}} : f64
# CHECK-NOT: math.expm1
# CHECK: math.exp %{{.*}} : vector<8xf64>
# CHECK: return
# CHECK-LABEL: step expand-math{fma=false}
# CHECK-NOT: math.fma
TEXT = """
func.func @vectors(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}
func.func @half(%x: f16) -> f16 {
  %0 = math.tanh %x : f16
  return %0 : f16
}
func.func @left_alone(%x: f32, %y: f64) -> (f32, f64) {
  %0 = math.sin %x : f32
  %1 = math.exp %y : f64
  return %0, %1 : f32, f64
}
func.func @doubles_without_an_intrinsic(%x: f64, %y: vector<8xf64>) -> (f64, vector<8xf64>) {
  %0 = math.log1p %x : f64
  %1 = math.expm1 %y : vector<8xf64>
  return %0, %1 : f64, vector<8xf64>
}"""

for step in ("expand-math", "expand-math{fma=false}"):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(TEXT)
        run_step(module.operation, step)
        assert module.operation.verify()
        print("step", step)
        print(module)
