// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s

// A value that is loaded under a condition is loaded under a mask of the lanes in which it holds.

// CHECK-LABEL: func.func @triangle(
// CHECK: %[[HOLDS:.*]] = arith.cmpi sle, {{.*}} : vector<16xindex>
// CHECK: %[[READ:.*]] = vector.maskedload {{.*}}, %[[HOLDS]], {{.*}} vector<16xf32>
// CHECK: %[[VALUE:.*]] = arith.select %[[HOLDS]], %[[READ]],
// CHECK: vector.store %[[VALUE]]
func.func @triangle(%a: memref<64x64xf32>, %b: memref<64x64xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  "tir.for"(%c0, %c64) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c64) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %c64, %c64) ({
      ^bb0(%vi: index, %vj: index):
        %inside = arith.cmpi sle, %vj, %vi : index
        %value = scf.if %inside -> (f32) {
          %read = memref.load %a[%vi, %vj] : memref<64x64xf32>
          scf.yield %read : f32
        } else {
          %zero = arith.constant 0.0 : f32
          scf.yield %zero : f32
        }
        memref.store %value, %b[%vi, %vj] : memref<64x64xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "b", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// What is stored under a condition is stored under such a mask.

// CHECK-LABEL: func.func @some(
// CHECK: %[[X:.*]] = vector.load
// CHECK: %[[POSITIVE:.*]] = arith.cmpf ogt, %[[X]]
// CHECK: vector.maskedstore {{.*}}, %[[POSITIVE]], %[[X]]
func.func @some(%a: memref<64x64xf32>, %b: memref<64x64xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  "tir.for"(%c0, %c64) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c64) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %c64, %c64) ({
      ^bb0(%vi: index, %vj: index):
        %read = memref.load %a[%vi, %vj] : memref<64x64xf32>
        %zero = arith.constant 0.0 : f32
        %positive = arith.cmpf ogt, %read, %zero : f32
        scf.if %positive {
          memref.store %read, %b[%vi, %vj] : memref<64x64xf32>
        }
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "b", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
