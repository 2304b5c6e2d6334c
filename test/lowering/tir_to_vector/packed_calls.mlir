// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s

// A call of a packed function becomes one of a function that the FFI part writes; equal sorts of
// calls share it. Loops around it run in order.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:.*]]: memref<2x?xf32>
// CHECK-DAG: %[[REAL:.*]] = memref.alloca() : memref<f64>
// CHECK: %{{.*}}, %{{.*}}, %[[SIZES:.*]]:2, %{{.*}}:2 = memref.extract_strided_metadata %[[A]]
// CHECK: call @relax_packed_0(
// CHECK: call @relax_packed_0(
// CHECK-NOT: omp
// CHECK: scf.for
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: call @relax_packed_1(%[[WIDE]], %{{.*}})
// CHECK: %[[GOT:.*]] = memref.load %[[REAL]][] : memref<f64>
// CHECK: arith.truncf %[[GOT]] : f64 to f32
// CHECK: func.func private @relax_packed_0(!llvm.ptr, i64, i64, i64, !llvm.ptr) attributes {tir.packed = ["f", "i", "tfloat32,2,0", "i", "shello"]}
// CHECK: func.func private @relax_packed_1(f64, !llvm.ptr) attributes {tir.packed = ["g", "f", "f"]}

func.func @main(%a: memref<2x?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = builtin.unrealized_conversion_cast %a, %c2 : memref<2x?xf32>, index to tuple<memref<2x?xf32>, index>
  %1 = "tir.call_packed"(%0) {callee = "f", dtype = "int32", dtypes = ["float32", "int64", ["hello"]]} : (tuple<memref<2x?xf32>, index>) -> i32
  %2 = builtin.unrealized_conversion_cast %a, %c0 : memref<2x?xf32>, index to tuple<memref<2x?xf32>, index>
  %3 = "tir.call_packed"(%2) {callee = "f", dtype = "int32", dtypes = ["float32", "int64", ["hello"]]} : (tuple<memref<2x?xf32>, index>) -> i32
  "tir.for"(%c0, %c2) ({
  ^bb0(%i: index):
    %4 = memref.load %a[%i, %c0] : memref<2x?xf32>
    %5 = builtin.unrealized_conversion_cast %4 : f32 to tuple<f32>
    %6 = "tir.call_packed"(%5) {callee = "g", dtype = "float32", dtypes = ["float32"]} : (tuple<f32>) -> f32
    memref.store %6, %a[%i, %c0] : memref<2x?xf32>
    "tir.yield"() : () -> ()
  }) {kind = "parallel"} : (index, index) -> ()
  return
}
