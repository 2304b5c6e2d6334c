// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @calls(
func.func @calls(%A: memref<4xf32>, %x: f32, %n: i8) attributes {tir.prim_func} {
  %0 = builtin.unrealized_conversion_cast %A, %x, %n : memref<4xf32>, f32, i8 to tuple<memref<4xf32>, f32, i8>
  // CHECK: "tir.call_extern"(%{{.*}}) {callee = "f", dtype = "float32", dtypes = ["handle", "float32", "uint8"]} : (tuple<memref<4xf32>, f32, i8>) -> f32
  %1 = "tir.call_extern"(%0) {callee = "f", dtype = "float32", dtypes = ["handle", "float32", "uint8"]} : (tuple<memref<4xf32>, f32, i8>) -> f32
  %2 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "tir.call_extern"(%{{.*}}) {callee = "g", dtypes = []} : (tuple<>) -> ()
  "tir.call_extern"(%2) {callee = "g", dtypes = []} : (tuple<>) -> ()
  return
}
