// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @inner(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{'relax.matmul' op matmul reduction dimensions must match, got 3 and 4}}
  %0 = "relax.matmul"(%x, %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{'relax.matmul' op matmul operands must have at least one dimension}}
  %0 = "relax.matmul"(%x, %y) : (tensor<f32>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x1x3xf32>, %y: tensor<4x3x5xf32>) {
  // expected-error@+1 {{'relax.matmul' op shapes (2) and (4) cannot be broadcast: dimension -1 is 2 and 4}}
  %0 = "relax.matmul"(%x, %y) : (tensor<2x1x3xf32>, tensor<4x3x5xf32>) -> tensor<4x1x5xf32>
  return
}

// -----

func.func @shape_operand(%x: !relax.shape<unit>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{'relax.matmul' op x1 must be a tensor, got R.Shape}}
  %0 = "relax.matmul"(%x, %y) : (!relax.shape<unit>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @linear_features(%a: tensor<2x3xf32>, %b: tensor<5x4xf32>, %c: tuple<>) {
  // expected-error@+1 {{'relax.linear' op matmul reduction dimensions must match, got 3 and 4}}
  %0 = "relax.linear"(%a, %b, %c) : (tensor<2x3xf32>, tensor<5x4xf32>, tuple<>) -> tensor<2x5xf32>
  return
}

// -----

func.func @outer_of_matrices(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'relax.outer' op x1 must have 1 dimension, got 2}}
  %0 = "relax.outer"(%a, %b) : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_counts(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %t = builtin.unrealized_conversion_cast %a, %b : tensor<2x3xf32>, tensor<3x4xf32> to tuple<tensor<2x3xf32>, tensor<3x4xf32>>
  // expected-error@+1 {{'relax.einsum' op subscripts 'ij' are for 1 operands, got 2}}
  %0 = "relax.einsum"(%t) {subscripts = "ij"} : (tuple<tensor<2x3xf32>, tensor<3x4xf32>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @einsum_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %t = builtin.unrealized_conversion_cast %a, %b : tensor<2x3xf32>, tensor<4x5xf32> to tuple<tensor<2x3xf32>, tensor<4x5xf32>>
  // expected-error@+1 {{'relax.einsum' op axes of 'j' have 3 and 4 elements}}
  %0 = "relax.einsum"(%t) {subscripts = "ij,jk->ik"} : (tuple<tensor<2x3xf32>, tensor<4x5xf32>>) -> tensor<2x5xf32>
  return
}

// -----

func.func @einsum_letters(%a: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %a : tensor<2x3xf32> to tuple<tensor<2x3xf32>>
  // expected-error@+1 {{'relax.einsum' op the result of 'ij->k' has 'k', which no operand has}}
  %0 = "relax.einsum"(%t) {subscripts = "ij->k"} : (tuple<tensor<2x3xf32>>) -> tensor<2xf32>
  return
}

// -----

func.func @einsum_ranks(%a: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %a : tensor<2x3xf32> to tuple<tensor<2x3xf32>>
  // expected-error@+1 {{'relax.einsum' op an operand of 'ijk' has 2 dimensions}}
  %0 = "relax.einsum"(%t) {subscripts = "ijk->k"} : (tuple<tensor<2x3xf32>>) -> tensor<2xf32>
  return
}
