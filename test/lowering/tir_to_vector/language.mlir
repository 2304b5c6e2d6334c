// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s

// A predicate guards the body; what initialises has the part that no reduction is in.
// CHECK-LABEL: func.func @predicate(
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = arith.cmpi ne
// CHECK: scf.if %[[FIRST]] {
// CHECK: memref.store
// CHECK: scf.for
// CHECK: %[[BOTH:.*]] = arith.andi
// CHECK: scf.if %[[BOTH]] {
// CHECK: arith.addf
// CHECK-NOT: tir.
func.func @predicate(%A: memref<10x7xf32>, %B: memref<10xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c12 = arith.constant 12 : index
  "tir.for"(%c0, %c11) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c12) ({
    ^bb0(%k: index):
      %p = arith.cmpi ne, %i, %c10 : index
      %q = arith.cmpi slt, %k, %c7 : index
      %both = arith.andi %p, %q : i1
      "tir.block"(%i, %k, %c10, %c7) ({
      ^bb0(%vi: index, %vk: index):
        "tir.where"(%both) : (i1) -> ()
        %0 = memref.load %A[%vi, %vk] : memref<10x7xf32>
        %1 = memref.load %B[%vi] : memref<10xf32>
        %2 = arith.addf %1, %0 : f32
        memref.store %2, %B[%vi] : memref<10xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vk: index):
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %B[%vi] : memref<10xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "B", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// A C function gets 32 bits for a narrower integer, and the address of a buffer.
// CHECK-LABEL: func.func @extern(
func.func @extern(%A: memref<4xf32>, %x: i8) attributes {tir.prim_func} {
  // CHECK: memref.extract_aligned_pointer_as_index
  // CHECK: arith.extui %{{.*}} : i8 to i32
  // CHECK: call @relax_extern_g(%{{.*}}, %{{.*}}) : (!llvm.ptr, i32) -> i32
  %0 = builtin.unrealized_conversion_cast %A, %x : memref<4xf32>, i8 to tuple<memref<4xf32>, i8>
  %1 = "tir.call_extern"(%0) {callee = "g", dtype = "int16", dtypes = ["handle", "uint8"]} : (tuple<memref<4xf32>, i8>) -> i16
  return
}

// Two elements of 4 bits share a byte.
// CHECK-LABEL: func.func @nibbles(
// CHECK-SAME: memref<3x5xi8>
// CHECK: arith.shrui
// CHECK: arith.trunci %{{.*}} : i8 to i4
// CHECK: arith.shli
// CHECK: memref.store %{{.*}} : memref<?xi8, strided<[1]>>
func.func @nibbles(%A: memref<3x5xi4>, %i: index) attributes {tir.prim_func} {
  %0 = memref.load %A[%i, %i] : memref<3x5xi4>
  memref.store %0, %A[%i, %i] : memref<3x5xi4>
  return
}

// CHECK: func.func private @relax_extern_g(!llvm.ptr, i32) -> i32
