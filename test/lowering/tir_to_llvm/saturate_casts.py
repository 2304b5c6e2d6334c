# RUN: %PYTHON %s | FileCheck %s
"""Pass `saturate-casts`: conversions that LLVM defines for all floats."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: func.func @one(
# CHECK: llvm.call_intrinsic "llvm.fptosi.sat.i8.f64"
# CHECK-LABEL: func.func @vectors(
# CHECK-SAME: [[X:%[^:]*]]: vector<16xf32>
# CHECK: [[MOST:%.*]] = arith.constant dense<2.550000e+02> : vector<16xf32>
# CHECK: arith.cmpf ogt, [[X]], {{.*}} : vector<16xf32>
# CHECK: arith.cmpf olt, {{.*}}, [[MOST]]
# CHECK: [[HIGH:%.*]] = arith.select
# CHECK: [[BYTES:%.*]] = llvm.fptoui [[HIGH]] : vector<16xf32> to vector<16xi8>
# CHECK: [[NAN:%.*]] = arith.cmpf uno, [[X]], [[X]]
# CHECK: arith.select [[NAN]], {{.*}}, [[BYTES]] : vector<16xi1>, vector<16xi8>
# CHECK: [[WIDE:%.*]] = arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
# CHECK: arith.constant dense<2.14748352E+9> : vector<16xf32>
# CHECK: [[INTS:%.*]] = llvm.fptosi {{.*}} : vector<16xf32> to vector<16xi32>
# CHECK: [[ABOVE:%.*]] = arith.cmpf oge, [[WIDE]]
# CHECK: [[LARGEST:%.*]] = arith.constant dense<2147483647> : vector<16xi32>
# CHECK: arith.select [[ABOVE]], [[LARGEST]], [[INTS]]
# CHECK-LABEL: func.func @matrices(
# CHECK: vector.shape_cast {{.*}} : vector<2x8xf32> to vector<16xf32>
# CHECK: llvm.fptosi {{.*}} : vector<16xf32> to vector<16xi64>
# CHECK: vector.shape_cast {{.*}} : vector<16xi64> to vector<2x8xi64>
# CHECK-NOT: arith.fpto
TEXT = """
func.func @one(%x: f64) -> i8 {
  %0 = arith.fptosi %x : f64 to i8
  return %0 : i8
}
func.func @vectors(%x: vector<16xf32>, %y: vector<16xbf16>) -> (vector<16xi8>, vector<16xi32>) {
  %0 = arith.fptoui %x : vector<16xf32> to vector<16xi8>
  %1 = arith.fptosi %y : vector<16xbf16> to vector<16xi32>
  return %0, %1 : vector<16xi8>, vector<16xi32>
}
func.func @matrices(%x: vector<2x8xf32>) -> vector<2x8xi64> {
  %0 = arith.fptosi %x : vector<2x8xf32> to vector<2x8xi64>
  return %0 : vector<2x8xi64>
}"""

with make_context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    run_step(module.operation, "saturate-casts")
    assert module.operation.verify()
    print(module)
