// REQUIRES: mlir-opt
// What IRDL can say, a stock mlir-opt checks.
// RUN: mlir-opt --irdl-file=%S/../../../dialects/irdl/relax_mlir.irdl.mlir %s -split-input-file -verify-diagnostics

func.func @operands(%x: tensor<2xf32>) {
  // expected-error@+1 {{op expects exactly 2 operands, but got 1}}
  %0 = "relax.add"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @attribute(%s: !relax.shape<unit>) {
  // expected-error@+1 {{attribute "axis" is expected but not provided}}
  %0 = "relax.softmax"(%s) : (!relax.shape<unit>) -> !relax.shape<unit>
  return
}

// -----

func.func @type(%x: i64) {
  // expected-error@+1 {{expected base type 'vm.heap' but got 'builtin.integer'}}
  %0 = "vm.load_shape"(%x) {slots = array<i64: 0>} : (i64) -> !relax.shape<1 : i64>
  return
}
