// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s

// What a sum begins with is stored first, row after row; the sums of rows then add to it.

// CHECK-LABEL: func.func @rows(
// CHECK: %[[BEGIN:.*]] = memref.load %arg1[%[[ROW:.*]]] : memref<64xf32>
// CHECK-NEXT: memref.store %[[BEGIN]], %arg2[%[[ROW]]] : memref<64xf32>
// CHECK: arith.addf {{.*}} : vector<64xf32>
// CHECK: memref.load %arg2[
// CHECK: arith.addf
// CHECK: memref.store {{.*}}, %arg2[
func.func @rows(%a: memref<64x256xf32>, %c: memref<64xf32>, %b: memref<64xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  "tir.for"(%c0, %c64) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c256) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %c64, %c256) ({
      ^bb0(%vi: index, %vj: index):
        %total = memref.load %b[%vi] : memref<64xf32>
        %read = memref.load %a[%vi, %vj] : memref<64x256xf32>
        %sum = arith.addf %total, %read : f32
        memref.store %sum, %b[%vi] : memref<64xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vj: index):
        %begin = memref.load %c[%vi] : memref<64xf32>
        memref.store %begin, %b[%vi] : memref<64xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "b", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
