// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @range(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.sum' op axis 2 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.sum"(%x) {axis = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @repeated(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.min' op axes must be distinct, got [0, -2]}}
  %0 = "relax.min"(%x) {axis = array<i64: 0, -2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @keepdims_kind(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.mean' op attribute 'keepdims': expected bool, got "yes"}}
  %0 = "relax.mean"(%x) {axis, keepdims = "yes"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.max' op result must be R.Tensor((2,), "float32"), declared R.Tensor((3,), "float32")}}
  %0 = "relax.max"(%x) {axis = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}
