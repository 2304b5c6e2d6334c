// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @indices(%v: tensor<3xf32>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.take' op indices must be integers, got float32}}
  %0 = "relax.take"(%x, %v) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @mode(%i: tensor<2xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.take' op mode must be one of fast, wrap, clip, nan, got 'raise'}}
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "raise"} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @nan(%i: tensor<2xi64>) {
  // expected-error@+1 {{'relax.take' op mode 'nan' needs a floating-point dtype, got int64}}
  %0 = "relax.take"(%i, %i) {axis = 0 : i64, mode = "nan"} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @axis(%i: tensor<2xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.take' op axis -3 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.take"(%x, %i) {axis = -3 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @rank(%i: tensor<2xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.gather_elements' op indices must have 2 dimensions like the data, got 1}}
  %0 = "relax.gather_elements"(%x, %i) {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @within(%j: tensor<4x3xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.gather_elements' op indices have 4 elements in dimension 0, the data only 2}}
  %0 = "relax.gather_elements"(%x, %j) {axis = 1 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @depth(%j: tensor<4x3xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.gather_nd' op indices of 3 numbers need a tensor of more than 2 dimensions}}
  %0 = "relax.gather_nd"(%x, %j) : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @batch(%j: tensor<4x3xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.gather_nd' op batch_dims 2 does not go with 2 and 2 dimensions}}
  %0 = "relax.gather_nd"(%x, %j) {batch_dims = 2 : i64} : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @reduction(%k: tensor<2x3xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.scatter_elements' op reduction must be one of update, add, mul, min, max, got 'mean'}}
  %0 = "relax.scatter_elements"(%x, %k, %x) {reduction = "mean"} : (tensor<2x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @updates(%k: tensor<2x3xi64>, %x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{'relax.scatter_elements' op tensors differ in dimension 1: 3 and 4}}
  %0 = "relax.scatter_elements"(%x, %k, %y) : (tensor<2x3xf32>, tensor<2x3xi64>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @updates_dtype(%k: tensor<2x3xi64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.scatter_elements' op operand dtypes must match, got float32 and int64}}
  %0 = "relax.scatter_elements"(%x, %k, %k) : (tensor<2x3xf32>, tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @updates_rank(%l: tensor<4x2xi64>, %v: tensor<3xf32>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.scatter_nd' op tensors differ in dimension 0: 4 and 3}}
  %0 = "relax.scatter_nd"(%x, %l, %v) : (tensor<2x3xf32>, tensor<4x2xi64>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @too_many(%i: tensor<2xi64>, %x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %i, %i, %i : tensor<2xi64>, tensor<2xi64>, tensor<2xi64> to tuple<tensor<2xi64>, tensor<2xi64>, tensor<2xi64>>
  // expected-error@+1 {{'relax.index_tensor' op 3 tensors of indices for 2 dimensions}}
  %0 = "relax.index_tensor"(%x, %t) : (tensor<2x3xf32>, tuple<tensor<2xi64>, tensor<2xi64>, tensor<2xi64>>) -> tensor<2xf32>
  return
}

// -----

func.func @none(%x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error@+1 {{'relax.index_tensor' op needs at least one tensor of indices}}
  %0 = "relax.index_tensor"(%x, %t) : (tensor<2x3xf32>, tuple<>) -> tensor<2x3xf32>
  return
}

// -----

func.func @indexing(%v: tensor<3xf32>) {
  %t = builtin.unrealized_conversion_cast %v : tensor<3xf32> to tuple<tensor<3xf32>>
  // expected-error@+1 {{'relax.meshgrid' op indexing must be one of ij, xy, got 'ji'}}
  %0 = "relax.meshgrid"(%t) {indexing = "ji"} : (tuple<tensor<3xf32>>) -> tuple<tensor<3xf32>>
  return
}

// -----

func.func @vectors(%x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %x : tensor<2x3xf32> to tuple<tensor<2x3xf32>>
  // expected-error@+1 {{'relax.meshgrid' op takes vectors, got 2 dimensions}}
  %0 = "relax.meshgrid"(%t) : (tuple<tensor<2x3xf32>>) -> tuple<tensor<2xf32>>
  return
}
