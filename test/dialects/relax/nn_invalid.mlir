// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.softmax' op axis -3 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.softmax"(%x) {axis = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @integers(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{'relax.log_softmax' op operand must have a floating-point dtype, got int32}}
  %0 = "relax.log_softmax"(%x) {axis = -1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}
