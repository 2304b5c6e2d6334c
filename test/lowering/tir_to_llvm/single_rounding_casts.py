# RUN: %PYTHON %s | FileCheck %s
"""Pass `single-rounding-casts`: wide integers become bfloat16 through float64, which is exact."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: func.func @narrow(
# CHECK-NEXT: arith.sitofp %{{.*}} : i16 to bf16
# CHECK-LABEL: func.func @word(
# CHECK-NEXT: [[WORD:%.*]] = arith.uitofp %{{.*}} : i32 to f64
# CHECK-NEXT: [[NEAR:%.*]] = arith.truncf [[WORD]] : f64 to f32
# CHECK-NEXT: [[BACK:%.*]] = arith.extf [[NEAR]] : f32 to f64
# CHECK: arith.cmpf ogt
# CHECK: arith.cmpf une, [[BACK]], [[WORD]] : f64
# CHECK: [[ODD:%.*]] = arith.ori %{{.*}} : i32
# CHECK: [[SINGLE:%.*]] = arith.bitcast [[ODD]] : i32 to f32
# CHECK: arith.truncf [[SINGLE]] : f32 to bf16
# CHECK-LABEL: func.func @signed(
# CHECK: [[KEPT:%.*]] = arith.ori
# CHECK: arith.addi %{{.*}} : vector<2x8xi64>
# CHECK: arith.shrui
# CHECK: [[HELD:%.*]] = arith.select %{{.*}}, %arg0, [[KEPT]] : vector<2x8xi1>, vector<2x8xi64>
# CHECK: [[LONG:%.*]] = arith.sitofp [[HELD]] : vector<2x8xi64> to vector<2x8xf64>
# CHECK-NEXT: arith.truncf [[LONG]] : vector<2x8xf64> to vector<2x8xf32>
# CHECK: arith.truncf %{{.*}} : vector<2x8xf32> to vector<2x8xbf16>
# CHECK-LABEL: func.func @unsigned(
# CHECK-NOT: arith.addi
# CHECK: arith.uitofp %{{.*}} : i64 to f64
# CHECK: arith.truncf %{{.*}} : f32 to bf16
# CHECK-LABEL: func.func @others(
# CHECK-NEXT: arith.sitofp %{{.*}} : i64 to f16
# CHECK-NEXT: arith.sitofp %{{.*}} : i64 to f32
TEXT = """
func.func @narrow(%x: i16) -> bf16 {
  %0 = arith.sitofp %x : i16 to bf16
  return %0 : bf16
}
func.func @word(%x: i32) -> bf16 {
  %0 = arith.uitofp %x : i32 to bf16
  return %0 : bf16
}
func.func @signed(%x: vector<2x8xi64>) -> vector<2x8xbf16> {
  %0 = arith.sitofp %x : vector<2x8xi64> to vector<2x8xbf16>
  return %0 : vector<2x8xbf16>
}
func.func @unsigned(%x: i64) -> bf16 {
  %0 = arith.uitofp %x : i64 to bf16
  return %0 : bf16
}
func.func @others(%x: i64) -> (f16, f32) {
  %0 = arith.sitofp %x : i64 to f16
  %1 = arith.sitofp %x : i64 to f32
  return %0, %1 : f16, f32
}"""

with make_context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    run_step(module.operation, "single-rounding-casts")
    assert module.operation.verify()
    print(module)
