// RUN: relax-opt %s --memref-to-llvm | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(lower-tir,memref-to-llvm{target='llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2'})" | FileCheck %s

// CHECK-LABEL: llvm.func @scale
// CHECK: llvm.load
// CHECK: llvm.fmul
// CHECK: llvm.store
// CHECK-NOT: memref
func.func @scale(%a: memref<?xf32>, %i: index) {
  %two = arith.constant 2.0 : f32
  %x = memref.load %a[%i] : memref<?xf32>
  %y = arith.mulf %x, %two : f32
  memref.store %y, %a[%i] : memref<?xf32>
  return
}
