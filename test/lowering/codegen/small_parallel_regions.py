# RUN: %PYTHON %s | FileCheck %s
"""Regions of one thread are called without OpenMP's runtime; others stay as they are."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.llvm.llvm_ir import to_llvm_ir
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_llvm.pipeline import run_steps

TARGET = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3")
SOURCE = """
func.func private @omp_get_thread_num() -> i32
func.func private @omp_get_num_threads() -> i32
func.func @asked(%x: memref<8xi32>, %many: i1, %most: i32) {
  omp.parallel if(%many) num_threads(%most : i32) {
    %number = func.call @omp_get_thread_num() : () -> i32
    %count = func.call @omp_get_num_threads() : () -> i32
    %place = arith.index_cast %number : i32 to index
    memref.store %count, %x[%place] : memref<8xi32>
    omp.barrier
    omp.terminator
  }
  return
}
func.func @always(%x: memref<8xi32>) {
  omp.parallel {
    %number = func.call @omp_get_thread_num() : () -> i32
    %place = arith.index_cast %number : i32 to index
    memref.store %number, %x[%place] : memref<8xi32>
    omp.terminator
  }
  return
}"""


def show() -> None:
    """Print both as LLVM IR."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(SOURCE)
        run_steps(module.operation, TARGET)
        print(to_llvm_ir(module.operation))


# CHECK-LABEL: define void @asked
# CHECK-NOT: call {{.*}}@__kmpc
# CHECK: call void @relax_fork(ptr @{{[^ ]+}}, ptr @[[BODY:[^ ]+]], i32 %{{.*}}, i32 %{{.*}}, ptr
# CHECK-NOT: call {{.*}}@__kmpc
# CHECK: ret void
# CHECK: define internal void @[[BODY]](ptr {{.*}}, ptr {{.*}}[[MARK:%[^ ,]+]], ptr
# CHECK: call i32 @relax_thread_number(ptr [[MARK]])
# CHECK: call i32 @relax_thread_count(ptr [[MARK]])
# CHECK: call void @relax_barrier(ptr [[MARK]], ptr @{{[^ ]+}}, i32
# CHECK-LABEL: define void @always
# CHECK: call void {{.*}}@__kmpc_fork_call(
# CHECK: call i32 @omp_get_thread_num()
# CHECK-LABEL: define internal void @relax_fork(
# CHECK: call void @__kmpc_push_num_threads(
# CHECK: call void @__kmpc_fork_call_if(
# CHECK: call void %body(ptr %number, ptr null, ptr %values)
show()
