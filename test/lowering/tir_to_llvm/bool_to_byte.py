# RUN: %PYTHON %s | FileCheck %s
"""Pass `bool-to-byte`: booleans are bytes in memory and bits in registers."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.tir_to_llvm.pipeline import run_step

# CHECK-LABEL: func.func @scalar(
# CHECK-SAME: memref<?xi8>
# CHECK: [[BYTE:%.*]] = memref.load {{.*}} : memref<?xi8>
# CHECK: [[BIT:%.*]] = arith.cmpi ne, [[BYTE]],
# CHECK: [[NOT:%.*]] = arith.xori [[BIT]],
# CHECK: [[OUT:%.*]] = arith.extui [[NOT]] : i1 to i8
# CHECK: memref.store [[OUT]],
SCALAR = """func.func @scalar(%a: memref<?xi1>, %i: index) {
  %true = arith.constant true
  %0 = memref.load %a[%i] : memref<?xi1>
  %1 = arith.xori %0, %true : i1
  memref.store %1, %a[%i] : memref<?xi1>
  return
}"""

# CHECK-LABEL: func.func @masked(
# CHECK: [[PAD:%.*]] = arith.extui {{.*}} : i1 to i8
# CHECK: [[BYTES:%.*]] = vector.transfer_read {{.*}}, [[PAD]], {{.*}} : memref<?xi8>, vector<4xi8>
# CHECK: [[BITS:%.*]] = arith.cmpi ne, [[BYTES]],
# CHECK: [[WIDE:%.*]] = arith.extui [[BITS]] : vector<4xi1> to vector<4xi8>
# CHECK: vector.transfer_write [[WIDE]]
MASKED = """func.func @masked(%a: memref<?xi1>, %i: index, %m: vector<4xi1>) {
  %pad = arith.constant false
  %0 = vector.transfer_read %a[%i], %pad, %m : memref<?xi1>, vector<4xi1>
  vector.transfer_write %0, %a[%i] : vector<4xi1>, memref<?xi1>
  return
}"""

# CHECK-LABEL: func.func @temporary(
# CHECK: memref.alloc({{.*}}) : memref<?xi8>
# CHECK: memref.copy {{.*}} : memref<?xi8> to memref<?xi8>
TEMPORARY = """func.func @temporary(%a: memref<?xi1>, %n: index) {
  %0 = memref.alloc(%n) : memref<?xi1>
  memref.copy %a, %0 : memref<?xi1> to memref<?xi1>
  return
}"""

for text in (SCALAR, MASKED, TEMPORARY):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_step(module.operation, "bool-to-byte")
        assert module.operation.verify()
        print(module)
