// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @dtype(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.zeros_like' op unknown dtype 'float31'; did you mean 'float32'?}}
  %0 = "relax.zeros_like"(%x) {dtype = "float31"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @fill_value(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.full_like' op fill_value must be a scalar, got 2 dimensions}}
  %0 = "relax.full_like"(%x, %x) {dtype} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @not_a_shape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.zeros' op shape must be a shape, got R.Tensor((2, 3), "float32")}}
  %0 = "relax.zeros"(%x) {dtype = "float32"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @needs_dtype(%s: !relax.shape<2 : i64>) {
  // expected-error@+1 {{'relax.zeros' op needs attribute 'dtype'}}
  %0 = "relax.zeros"(%s) : (!relax.shape<2 : i64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @step() {
  // expected-error@+1 {{'relax.arange' op the step of a range cannot be 0}}
  %0 = "relax.arange"() {start = 0 : i64, end = 4 : i64, step = 0 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @size() {
  // expected-error@+1 {{'relax.arange' op result must be R.Tensor((4,), "int64"), declared R.Tensor((5,), "int64")}}
  %0 = "relax.arange"() {start = 0 : i64, end = 4 : i64} : () -> tensor<5xi64>
  return
}

// -----

func.func @no_size() {
  // expected-error@+1 {{'relax.arange' op a range from 0.0 to inf by 1 has no size}}
  %0 = "relax.arange"() {start = 0.0 : f64, end = 0x7FF0000000000000 : f64} : () -> tensor<?xf32>
  return
}

// -----

func.func @bools() {
  // expected-error@+1 {{'relax.arange' op a range of bools has no meaning: make one of int32 and cast it}}
  %0 = "relax.arange"() {start = 4 : i64, dtype = "bool"} : () -> tensor<4xi1>
  return
}

// -----

func.func @kind() {
  // expected-error@+1 {{'relax.arange' op attribute 'start': expected a number or symbol, got "4"}}
  %0 = "relax.arange"() {start = "4"} : () -> tensor<4xi64>
  return
}

// -----

func.func @square() {
  // expected-error@+1 {{'relax.eye' op result must be R.Tensor((4, 4), "float32"), declared R.Tensor((4, 3), "float32")}}
  %0 = "relax.eye"() {n = 4 : i64} : () -> tensor<4x3xf32>
  return
}

// -----

func.func @vector(%v: tensor<3xf32>) {
  // expected-error@+1 {{'relax.tril' op tril needs a matrix, got 1 dimensions}}
  %0 = "relax.tril"(%v) {k = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @matrices(%v: tensor<3xf32>) {
  // expected-error@+1 {{'relax.eye_like' op eye_like needs a matrix, got 1 dimensions}}
  %0 = "relax.eye_like"(%v) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @indices(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.one_hot' op indices must be integers, got float32}}
  %0 = "relax.one_hot"(%x) {on_value = 1 : i64, off_value = 0 : i64, depth = 4 : i64} : (tensor<2x3xf32>) -> tensor<2x3x4xi64>
  return
}

// -----

func.func @depth(%i: tensor<2xi64>) {
  // expected-error@+1 {{'relax.one_hot' op depth must be at least 1, got 0}}
  %0 = "relax.one_hot"(%i) {on_value = 1 : i64, off_value = 0 : i64, depth = 0 : i64} : (tensor<2xi64>) -> tensor<2x0xi64>
  return
}

// -----

func.func @axis(%i: tensor<2xi64>) {
  // expected-error@+1 {{'relax.one_hot' op axis 2 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.one_hot"(%i) {on_value = 1 : i64, off_value = 0 : i64, depth = 4 : i64, axis = 2 : i64} : (tensor<2xi64>) -> tensor<2x4xi64>
  return
}
