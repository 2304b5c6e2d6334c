// RUN: relax-opt --sink-constants %s | FileCheck %s
// RUN: relax-opt --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=2" --memref-to-llvm %s | FileCheck %s --check-prefix=WHOLE

// A constant used inside is copied, once; what is no constant is still handed over.
// CHECK-LABEL: llvm.func @largest(
// CHECK: %[[OUT:.*]] = llvm.mlir.constant(0.000000e+00 : f32) : f32
// CHECK: omp.parallel {
// CHECK-NEXT: %[[IN:.*]] = llvm.mlir.constant(0.000000e+00 : f32) : f32
// CHECK-NOT: llvm.mlir.constant
// CHECK: llvm.fmul %{{.*}}, %arg1
// CHECK: llvm.intr.maximum(%{{.*}}, %[[IN]])
// CHECK: llvm.store %[[IN]]
// CHECK: omp.terminator
// CHECK: llvm.store %[[OUT]]
llvm.func @largest(%p: !llvm.ptr, %by: f32) {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  omp.parallel {
    %0 = llvm.load %p : !llvm.ptr -> f32
    %1 = llvm.fmul %0, %by : f32
    %2 = llvm.intr.maximum(%1, %zero) : (f32, f32) -> f32
    llvm.store %2, %p : f32, !llvm.ptr
    llvm.store %zero, %p : f32, !llvm.ptr
    omp.terminator
  }
  llvm.store %zero, %p : f32, !llvm.ptr
  llvm.return
}

// Several threads: so it is at the end of all steps.
// WHOLE-LABEL: llvm.func @relu(
// WHOLE: omp.parallel
// WHOLE: llvm.mlir.constant(0.000000e+00 : f32) : f32
// WHOLE: llvm.intr.maximum
func.func @relu(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = memref.load %a[%i] : memref<?xf32>
    %1 = arith.maximumf %0, %zero : f32
    memref.store %1, %a[%i] : memref<?xf32>
    scf.reduce
  }
  return
}
