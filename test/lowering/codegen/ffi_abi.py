# RUN: %PYTHON %s | FileCheck %s
"""The exported function checks its arguments, then calls the kernel, which may rely on it."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.ffi.abi import describe_kernels, emit_wrappers
from relax_mlir.lowering.codegen.ffi.signature import take_signatures
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps

# What checks is declared; it is compiled once and linked into every object.
# CHECK: llvm.func @relax_ffi_check(
# CHECK-NOT: llvm.func @relax_ffi_buffer(
# Two parameters, three dimensions to check, one pair to keep apart.
# CHECK: llvm.mlir.global internal constant @relax_ffi_table0(dense<[{{[0-9]+}}, 2, 3, 1,
# CHECK-SAME: {{[0-9]+}}, 73730, {{[0-9]+}}, 2, {{[0-9]+}}, 73730, {{[0-9]+}}, 2,
# The columns of each are 4, the rows of the second those of the first.
# CHECK-SAME: 0, 1, -1, 4, {{[0-9]+}}, 1, 0, 0, 0, {{[0-9]+}}, 1, 1, -1, 4, {{[0-9]+}},
# CHECK-SAME: 1, 0]>
# CHECK: llvm.func @__tvm_ffi_copy(
# CHECK-SAME: -> i32
# CHECK: llvm.call @relax_ffi_check(
# CHECK: llvm.call @relax_kernel_copy(
# The input is only read, the output may be written, neither overlaps the other.
# CHECK: llvm.func internal @relax_kernel_copy(
# CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}
# CHECK-SAME: !llvm.ptr {llvm.noalias},
TARGET = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
TEXT = """
#n4 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>
func.func @copy(
    %A: memref<?x4xf32> {tir.name = "A", tir.shape = #n4, tir.dtype = "float32"},
    %Y: memref<?x4xf32> {tir.name = "Y", tir.shape = #n4, tir.dtype = "float32"}
) attributes {tir.prim_func} {
  memref.copy %A, %Y : memref<?x4xf32> to memref<?x4xf32>
  return
}"""

with make_context(), ir.Location.unknown():
    module = ir.Module.parse(TEXT)
    signatures = take_signatures(module.operation)
    run_steps(module.operation, TARGET)
    describe_kernels(module.operation, signatures, TARGET)
    emit_wrappers(module.operation, signatures, TARGET)
    assert module.operation.verify()
    print(module)
