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
