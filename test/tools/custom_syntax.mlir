// Operations defined in Python are read in the generic form only: the message names the place.
// RUN: not relax-opt %s 2>&1 | FileCheck %s

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: custom_syntax.mlir:6:8: error: 'relax.exp' has no custom syntax; write the generic form: "relax.exp"(...)
  %0 = relax.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
