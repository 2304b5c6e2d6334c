// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<2x3xi64>) {
  // expected-error@+1 {{'relax.unique' op result must be R.Tensor(ndim=1, dtype="int64"), declared R.Tensor(ndim=2, dtype="int64")}}
  %0 = "relax.unique"(%x) : (tensor<2x3xi64>) -> tensor<?x?xi64>
  return
}

// -----

func.func @dtype(%x: tensor<2x3xi64>) {
  // expected-error@+1 {{'relax.unique' op result must be R.Tensor(ndim=1, dtype="int64"), declared R.Tensor(ndim=1, dtype="uint64")}}
  %0 = "relax.unique"(%x) : (tensor<2x3xi64>) -> tensor<?xui64>
  return
}

// -----

func.func @axis(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.unique' op axis 2 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.unique"(%a) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @a_row_for_each_dimension(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.nonzero' op result must be R.Tensor(ndim=2, dtype="int64"), declared R.Tensor(ndim=1, dtype="int64")}}
  %0 = "relax.nonzero"(%a) : (tensor<2x3xf32>) -> tensor<?xi64>
  return
}
