// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @not_a_tuple(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.concat' op tensors must be a tuple of tensors, got R.Tensor((2, 3), "float32")}}
  %0 = "relax.concat"(%x) {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @nothing() {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error@+1 {{'relax.concat' op needs at least one tensor}}
  %0 = "relax.concat"(%t) : (tuple<>) -> tensor<2x3xf32>
  return
}

// -----

func.func @not_tensors(%s: !relax.shape<2 : i64>, %x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %s : tensor<2x3xf32>, !relax.shape<2 : i64> to tuple<tensor<2x3xf32>, !relax.shape<2 : i64>>
  // expected-error@+1 {{'relax.concat' op field 1 of tensors must be a tensor, got R.Shape(ndim=2)}}
  %0 = "relax.concat"(%t) : (tuple<tensor<2x3xf32>, !relax.shape<2 : i64>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @ranks(%v: tensor<3xf32>, %x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %v : tensor<2x3xf32>, tensor<3xf32> to tuple<tensor<2x3xf32>, tensor<3xf32>>
  // expected-error@+1 {{'relax.concat' op tensors must have one rank, got [1, 2]}}
  %0 = "relax.concat"(%t) : (tuple<tensor<2x3xf32>, tensor<3xf32>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @matrices_without_axis(%x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %x : tensor<2x3xf32> to tuple<tensor<2x3xf32>>
  // expected-error@+1 {{'relax.concat' op tensors of 2 dimensions need an axis}}
  %0 = "relax.concat"(%t) {axis} : (tuple<tensor<2x3xf32>>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dtypes(%i: tensor<2xi64>, %v: tensor<3xf32>) {
  %t = builtin.unrealized_conversion_cast %v, %i : tensor<3xf32>, tensor<2xi64> to tuple<tensor<3xf32>, tensor<2xi64>>
  // expected-error@+1 {{'relax.concat' op operand dtypes must match, got float32 and int64}}
  %0 = "relax.concat"(%t) : (tuple<tensor<3xf32>, tensor<2xi64>>) -> tensor<5xf32>
  return
}

// -----

func.func @differ(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<2x3xf32>, tensor<2x4xf32> to tuple<tensor<2x3xf32>, tensor<2x4xf32>>
  // expected-error@+1 {{'relax.concat' op tensors differ in dimension 1: 3 and 4}}
  %0 = "relax.concat"(%t) {axis = 0 : i64} : (tuple<tensor<2x3xf32>, tensor<2x4xf32>>) -> tensor<4x3xf32>
  return
}

// -----

func.func @sum(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<2x3xf32>, tensor<2x4xf32> to tuple<tensor<2x3xf32>, tensor<2x4xf32>>
  // expected-error@+1 {{'relax.concat' op result must be R.Tensor((2, 7), "float32"), declared R.Tensor((2, 6), "float32")}}
  %0 = "relax.concat"(%t) {axis = 1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x4xf32>>) -> tensor<2x6xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<2x3xf32>, tensor<2x3xf32> to tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  // expected-error@+1 {{'relax.stack' op axis 3 is out of range for a tensor of 3 dimensions}}
  %0 = "relax.stack"(%t) {axis = 3 : i64} : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x2x3xf32>
  return
}

// -----

func.func @sections(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.split' op there must be at least one section, got 0}}
  %0 = "relax.split"(%x) {indices_or_sections = 0 : i64} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>>
  return
}

// -----

func.func @parts(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.split' op result must be R.Tuple(R.Tensor((1, 3), "float32"), R.Tensor((1, 3), "float32")), declared R.Tuple(R.Tensor((2, 3), "float32"))}}
  %0 = "relax.split"(%x) {indices_or_sections = 2 : i64} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>>
  return
}

// -----

func.func @sizes(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.split' op result must be R.Tuple(R.Tensor((2, 1), "float32"), R.Tensor((2, 2), "float32")), declared R.Tuple(R.Tensor((2, 1), "float32"), R.Tensor((2, 1), "float32"))}}
  %0 = "relax.split"(%x) {indices_or_sections = array<i64: 1>, axis = 1 : i64} : (tensor<2x3xf32>) -> tuple<tensor<2x1xf32>, tensor<2x1xf32>>
  return
}

// -----

func.func @lengths(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op axes, begin, end and strides must have one length, got 1, 2, 1, 1}}
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0, 1>, end = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @stride(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op a stride cannot be 0}}
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 1>, strides = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op result must be R.Tensor((2, 1), "float32"), declared R.Tensor((2, 2), "float32")}}
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = array<i64: 1>, end = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @bounds(%i: tensor<2xi64>, %v: tensor<3xf32>, %x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.dynamic_strided_slice' op strides must be int64, got float32}}
  %0 = "relax.dynamic_strided_slice"(%x, %i, %i, %v) : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<3xf32>) -> tensor<?x?xf32>
  return
}
