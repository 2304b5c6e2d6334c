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
  // expected-error@+1 {{'relax.permute_dims' op attribute 'axes': expected ints, got "10"}}
  %0 = "relax.permute_dims"(%x) {axes = "10"} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
