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
