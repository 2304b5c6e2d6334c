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

// -----

func.func @variance_of_integers(%a: tensor<3xi32>) {
  // expected-error@+1 {{'relax.variance' op operand must have a floating-point dtype, got int32}}
  %0 = "relax.variance"(%a) : (tensor<3xi32>) -> tensor<i32>
  return
}

// -----

func.func @places_along_two_axes(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.argmax' op attribute 'axis': expected int, got array<i64: 0, 1>}}
  %0 = "relax.argmax"(%a) {axis = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<i64>
  return
}

// -----

func.func @places_are_int64(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.argmin' op result must be R.Tensor((2,), "int64"), declared R.Tensor((2,), "int32")}}
  %0 = "relax.argmin"(%a) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @mean_of_bools(%x: tensor<4xi1>) {
  // expected-error@+1 {{'relax.mean' op operand must have a numeric dtype, got bool; cast it first}}
  %0 = "relax.mean"(%x) {axis = unit, keepdims = false} : (tensor<4xi1>) -> tensor<i1>
  return
}
