// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @elements(%x: tensor<2x3xf32>) {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (7)>>>
  // expected-error@+1 {{'relax.reshape' op cannot reshape 6 elements to 7}}
  %0 = "relax.reshape"(%x, %s) : (tensor<2x3xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (7)>>>) -> tensor<7xf32>
  return
}

// -----

func.func @not_a_shape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.reshape' op shape must be a shape, got R.Tensor((2, 3), "float32")}}
  %0 = "relax.reshape"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @too_large(%x: tensor<4611686018427387904x4xi8>) {
  // expected-error@+1 {{'relax.flatten' op a dimension does not fit 64 bits, got 18446744073709551616}}
  %0 = "relax.flatten"(%x) : (tensor<4611686018427387904x4xi8>) -> tensor<?xi8>
  return
}

// -----

func.func @axes_count(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.permute_dims' op permute_dims needs 2 axes, got 1}}
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axes_repeated(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.permute_dims' op axes must be distinct, got [1, -1]}}
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @axes_kind(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.permute_dims' op attribute 'axes': expected ints, as in array<i64: 1, 2>, got "10"}}
  %0 = "relax.permute_dims"(%x) {axes = "10"} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @new_axes(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.expand_dims' op axis 4 is out of range for a tensor of 4 dimensions}}
  %0 = "relax.expand_dims"(%x) {axis = array<i64: 0, 4>} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  return
}

// -----

func.func @not_one(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.squeeze' op cannot squeeze dimension 0, which is 2 and not 1}}
  %0 = "relax.squeeze"(%x) {axis = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @fewer(%s1: !relax.shape<1 : i64>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.broadcast_to' op a tensor of 2 dimensions cannot be broadcast to 1}}
  %0 = "relax.broadcast_to"(%x, %s1) : (tensor<2x3xf32>, !relax.shape<1 : i64>) -> tensor<?xf32>
  return
}

// -----

func.func @two_holes(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.resolve_shape' op only one dimension of the new shape can be -1}}
  %0 = "relax.resolve_shape"(%x) {pattern = array<i64: -1, -1>} : (tensor<2x3xf32>) -> !relax.shape<2 : i64>
  return
}

// -----

func.func @not_a_multiple(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.resolve_shape' op cannot reshape 6 elements to a multiple of 4}}
  %0 = "relax.resolve_shape"(%x) {pattern = array<i64: -1, 4>} : (tensor<2x3xf32>) -> !relax.shape<2 : i64>
  return
}

// -----

func.func @no_dimension(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.resolve_shape' op there is no dimension 2 to copy, the tensor has 2}}
  %0 = "relax.resolve_shape"(%x) {pattern = array<i64: 0, 0, 0>} : (tensor<2x3xf32>) -> !relax.shape<3 : i64>
  return
}

// -----

func.func @symbols(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.resolve_shape' op attribute 'pattern': no dimension of #relax.dims uses symbol 'n'}}
  %0 = "relax.resolve_shape"(%x) {pattern = #relax.dims<["n"], affine_map<()[s0] -> (4)>>} : (tensor<2x3xf32>) -> !relax.shape<1 : i64>
  return
}
