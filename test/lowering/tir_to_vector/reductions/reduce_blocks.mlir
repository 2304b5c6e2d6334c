// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s

// Sums over the first and the last axis: rows of neighbouring results are nearer than those of one,
// so blocks of results go row by row, with a vector of sums in memory for each.
#m = affine_map<() -> (16, 512, 70)>
#v = affine_map<() -> (512)>
// CHECK-LABEL: func.func @ends
// CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<1024xf32>
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c512 step %c64
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: scf.for {{.*}} to %c16 step
// CHECK: scf.for {{.*}} = %[[FIRST]] to
// CHECK: vector.load %[[SUMS]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.maskedload
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: scf.for {{.*}} = %[[FIRST]] to
// CHECK: vector.load %[[SUMS]]
// CHECK: memref.store {{.*}}, %arg1
func.func @ends(%A: memref<16x512x70xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #m>},
                %B: memref<512xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %c70 = arith.constant 70 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c512) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c16) ({
    ^bb0(%j: index):
      "tir.for"(%c0, %c70) ({
      ^bb0(%k: index):
        "tir.block"(%i, %j, %k, %c512, %c16, %c70) ({
        ^bb0(%vi: index, %vj: index, %vk: index):
          %a = memref.load %A[%vj, %vi, %vk] : memref<16x512x70xf32>
          %b = memref.load %B[%vi] : memref<512xf32>
          %s = arith.addf %b, %a : f32
          memref.store %s, %B[%vi] : memref<512xf32>
          "tir.yield"() : () -> ()
        }, {
        ^bb0(%vi: index, %vj: index, %vk: index):
          memref.store %zero, %B[%vi] : memref<512xf32>
          "tir.yield"() : () -> ()
        }) {block_name = "ends", iter_types = ["spatial", "reduction", "reduction"]} : (index, index, index, index, index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
