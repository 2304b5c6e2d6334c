"""The OpenMP runtime's entry points for one thread, where the machine has no such runtime.

Kernels ask how many threads there are and split their work by the answer, so they run as they are;
results do not depend on the number.
"""

# By the names that LLVM's code calls: https://openmp.llvm.org/doxygen/kmp_8h_source.html
SERIAL_OPENMP = """
define i32 @omp_get_max_threads() {
  ret i32 1
}
define i32 @omp_get_num_threads() {
  ret i32 1
}
define i32 @omp_get_thread_num() {
  ret i32 0
}
define i32 @__kmpc_global_thread_num(ptr %where) {
  ret i32 0
}
define void @__kmpc_push_num_threads(ptr %where, i32 %thread, i32 %count) {
  ret void
}
define void @__kmpc_barrier(ptr %where, i32 %thread) {
  ret void
}
define void @__kmpc_for_static_init_8u(ptr %where, i32 %thread, i32 %kind, ptr %last, ptr %low,
                                       ptr %high, ptr %step, i64 %by, i64 %chunk) {
  store i32 1, ptr %last
  ret void
}
define void @__kmpc_for_static_fini(ptr %where, i32 %thread) {
  ret void
}
define void @__kmpc_fork_call(ptr %where, i32 %count, ptr %body, ...) {
  %list = alloca [4 x i64], align 16
  call void @llvm.va_start.p0(ptr %list)
  %arguments = va_arg ptr %list, ptr
  call void @llvm.va_end.p0(ptr %list)
  call void @__kmpc_fork_call_if(ptr %where, i32 %count, ptr %body, i32 0, ptr %arguments)
  ret void
}
define void @__kmpc_fork_call_if(ptr %where, i32 %count, ptr %body, i32 %wanted, ptr %arguments) {
  %number = alloca i32
  store i32 0, ptr %number
  call void %body(ptr %number, ptr %number, ptr %arguments)
  ret void
}
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
"""
