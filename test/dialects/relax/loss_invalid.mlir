// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @dtypes(%a: tensor<2x3xf32>, %b: tensor<2x3xi64>) {
  // expected-error@+1 {{'relax.cross_entropy_with_logits' op labels must have a floating-point dtype, got int64}}
  %0 = "relax.cross_entropy_with_logits"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<f32>
  return
}

// -----

func.func @ranks(%a: tensor<2x3xf32>, %b: tensor<2x3xi64>, %c: tuple<>) {
  // expected-error@+1 {{'relax.nll_loss' op predictions must have one dimension more than targets, got 2 and 2}}
  %0 = "relax.nll_loss"(%a, %b, %c) : (tensor<2x3xf32>, tensor<2x3xi64>, tuple<>) -> tensor<f32>
  return
}

// -----

func.func @sizes(%a: tensor<2x3xf32>, %b: tensor<4xi64>, %c: tuple<>) {
  // expected-error@+1 {{'relax.nll_loss' op predictions and targets have 2 and 4 elements along an axis}}
  %0 = "relax.nll_loss"(%a, %b, %c) : (tensor<2x3xf32>, tensor<4xi64>, tuple<>) -> tensor<f32>
  return
}

// -----

func.func @reduction(%a: tensor<2x3xf32>, %b: tensor<2xi64>, %c: tuple<>) {
  // expected-error@+1 {{'relax.nll_loss' op reduction must be one of none, mean, sum, got max}}
  %0 = "relax.nll_loss"(%a, %b, %c) {reduction = "max"} : (tensor<2x3xf32>, tensor<2xi64>, tuple<>) -> tensor<f32>
  return
}
