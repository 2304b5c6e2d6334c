// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @no_shape(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.tensor_to_shape' op a shape is made of one dimension of int64, got 1 of float32}}
  %0 = "relax.tensor_to_shape"(%a) : (tensor<3xf32>) -> !relax.shape<3>
  return
}

// -----

func.func @size_is_a_scalar(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.size' op result must be R.Tensor((), "int64"), declared R.Tensor((3,), "int64")}}
  %0 = "relax.size"(%a) : (tensor<3xf32>) -> tensor<3xi64>
  return
}
