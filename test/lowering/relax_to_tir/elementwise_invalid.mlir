// RUN: relax-opt %s --legalize-ops --split-input-file --verify-diagnostics

func.func @negative(%x: tensor<4xi1>) -> tensor<4xi1> attributes {relax.function} {
  // expected-error@below {{'relax.negative' op is not defined for bool: cast the operands first, as in R.negative(R.astype(x, "int32"), ...)}}
  %y = "relax.negative"(%x) : (tensor<4xi1>) -> tensor<4xi1>
  return %y : tensor<4xi1>
}

// -----

func.func @divide(%x: tensor<4xi1>) -> tensor<4xi1> attributes {relax.function} {
  // expected-error@below {{'relax.divide' op is not defined for bool}}
  %y = "relax.divide"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %y : tensor<4xi1>
}

// -----

func.func @mean(%x: tensor<4xi1>) -> tensor<i1> attributes {relax.function} {
  // expected-error@below {{'relax.mean' op is not defined for bool}}
  %y = "relax.mean"(%x) {axis = unit, keepdims = false} : (tensor<4xi1>) -> tensor<i1>
  return %y : tensor<i1>
}
