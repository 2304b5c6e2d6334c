// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @axis(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.cumsum' op axis 2 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.cumsum"(%a) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @bools(%a: tensor<3xi1>) {
  // expected-error@+1 {{'relax.cumsum' op result must have a numeric dtype, got bool}}
  %0 = "relax.cumsum"(%a) : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @dtype(%a: tensor<3xf32>) {
  // expected-error@+1 {{unknown dtype 'float33'}}
  %0 = "relax.cumprod"(%a) {dtype = "float33"} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @flattened(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.cumsum' op result must be R.Tensor((6,), "float32"), declared R.Tensor((2, 3), "float32")}}
  %0 = "relax.cumsum"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
