// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=4" --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir | FileCheck %s --check-prefix=ONE

// One parallel region, entered by several threads when there is enough to do. Each takes a range of
// the elements; what memory a thread needs of its own is allocated, and checked, outside of it.

// CHECK: func.func private @relax_mlir_max_threads() -> i32
// CHECK-LABEL: func.func @exp
// CHECK: = call @relax_mlir_max_threads() : () -> i32
// CHECK: [[MANY:%.*]] = arith.cmpi sge
// CHECK: omp.parallel if([[MANY]]) num_threads({{.*}} : i32) {
// CHECK: func.call @relax_mlir_piece() : () -> i32
// CHECK: func.call @relax_mlir_pieces() : () -> i32
// CHECK: scf.for
// CHECK: vector.store
// CHECK: omp.terminator
// CHECK-NOT: omp.parallel
// ONE-NOT: omp
// What is vector code already is not vectorised again; the main loop may be unrolled.
// ONE: scf.for
// ONE: } {llvm.loop_annotation = #
func.func @exp(%A: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>},
               %B: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%vi: index):
      %a = memref.load %A[%vi] : memref<?xf32>
      %e = math.exp %a : f32
      memref.store %e, %B[%vi] : memref<?xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "exp", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
