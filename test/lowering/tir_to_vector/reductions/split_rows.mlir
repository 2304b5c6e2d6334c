// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=2" --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver3 -num-threads=2" --lower-tir | FileCheck %s

// Sums of long columns are made of 32 pieces of rows, which threads share, and then added in order.
#m = affine_map<() -> (4096, 1024)>
#v = affine_map<() -> (1024)>
// CHECK-LABEL: func.func @columns
// CHECK: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<32768xf32>
// CHECK: omp.parallel
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: omp.terminator
// CHECK: scf.for {{.*}} to %c1024
// CHECK: scf.for {{.*}} to %c32 {{.*}} iter_args
// CHECK: vector.load %[[SUMS]]
// CHECK: arith.addf
func.func @columns(%A: memref<4096x1024xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #m>},
                   %B: memref<1024xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #v>}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %rows = arith.constant 4096 : index
  %cols = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %cols) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %rows) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %cols, %rows) ({
      ^bb0(%vi: index, %vj: index):
        %a = memref.load %A[%vj, %vi] : memref<4096x1024xf32>
        %b = memref.load %B[%vi] : memref<1024xf32>
        %s = arith.addf %b, %a : f32
        memref.store %s, %B[%vi] : memref<1024xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vj: index):
        memref.store %zero, %B[%vi] : memref<1024xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "columns", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
