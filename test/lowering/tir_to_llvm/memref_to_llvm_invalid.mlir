// RUN: relax-opt %s --memref-to-llvm --verify-diagnostics

func.func @out_of_order(%A: memref<4xf32> {tir.name = "A"}) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %value = arith.constant 0.0 : f32
  // expected-error@+1 {{'tir.for' op must be lowered before MemrefToLLVM: run lower-tir first}}
  "tir.for"(%zero, %four) ({
  ^bb0(%i: index):
    memref.store %value, %A[%i] : memref<4xf32>
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
