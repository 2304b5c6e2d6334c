// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @result(%g: tensor<3x2xf32>, %x: tensor<3x5xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'relax.grad_take_backward' op result must be R.Tensor((3, 5), "float32"), declared R.Tensor((3, 2), "float32")}}
  %0 = "relax.grad_take_backward"(%g, %x, %i) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @kind(%g: !relax.shape<2 : i64>, %x: tensor<3x5xf32>, %t: tensor<3xi64>, %w: tensor<5xf32>) {
  // expected-error@+1 {{'relax.grad_nll_loss_backward' op output_grad must be a tensor, got R.Shape(ndim=2)}}
  %0 = "relax.grad_nll_loss_backward"(%g, %x, %t, %w) : (!relax.shape<2 : i64>, tensor<3x5xf32>, tensor<3xi64>, tensor<5xf32>) -> tensor<3x5xf32>
  return
}
