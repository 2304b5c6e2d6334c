# RUN: %PYTHON %s | FileCheck %s
"""Parallel regions call the thread pool, or their function where the condition does not hold."""

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
# CHECK: call void @relax_fork(ptr @[[BODY:[^ ]+]], i32 %{{.*}}, i32 %{{.*}}, i1 true, ptr
# CHECK-NOT: call {{.*}}@__kmpc
# CHECK: ret void
# CHECK: define internal void @[[BODY]](ptr {{.*}}, ptr {{.*}}[[MEMBER:%[^ ,]+]], ptr
# CHECK: call i32 @relax_piece(ptr [[MEMBER]])
# CHECK: call i32 @relax_pieces(ptr [[MEMBER]])
# CHECK: call void @relax_barrier(ptr [[MEMBER]])
# CHECK-LABEL: define void @always
# CHECK: call void @relax_fork(ptr @{{[^ ]+}}, i32 1, i32 0, i1 false, ptr
# CHECK: call i32 @relax_piece(ptr
# CHECK-NOT: call {{.*}}@__kmpc
# CHECK-LABEL: define internal void @relax_fork(
# CHECK: call void @relax_mlir_parallel(
# CHECK: call void %body(ptr %number, ptr null, ptr %values)
show()
