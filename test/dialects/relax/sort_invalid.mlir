// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @axis(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.sort' op axis 1 is out of range for a tensor of 1 dimensions}}
  %0 = "relax.sort"(%a) {axis = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @indices_are_integers(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.argsort' op indices have an integer dtype, got float32}}
  %0 = "relax.argsort"(%a) {dtype = "float32"} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @too_many(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.topk' op cannot take 4 of 3 elements}}
  %0 = "relax.topk"(%a) {k = 4 : i64} : (tensor<3xf32>) -> tuple<tensor<4xf32>, tensor<4xi32>>
  return
}

// -----

func.func @what_is_returned(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.topk' op ret_type must be one of both, values, indices, got value}}
  %0 = "relax.topk"(%a) {ret_type = "value"} : (tensor<3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @boundaries(%a: tensor<3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.bucketize' op boundaries must have 1 dimension, got 2}}
  %0 = "relax.bucketize"(%a, %b) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xi64>
  return
}
