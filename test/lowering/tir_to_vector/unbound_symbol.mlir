// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir --verify-diagnostics

// A symbol that no parameter gives: only its sum with another is a dimension.

func.func @unbound(%C: memref<?xf32> {tir.name = "C", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 + s1)>>}) attributes {tir.prim_func} {
  // expected-error@+1 {{symbol 'n' has no value: no buffer parameter has it as a dimension and no integer parameter has its name}}
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    memref.store %z, %C[%i] : memref<?xf32>
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
