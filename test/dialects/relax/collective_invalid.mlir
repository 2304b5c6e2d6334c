// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @reduction(%x: tensor<4xf32>) {
  // expected-error@+1 {{'relax.ccl_allreduce' op op_type must be one of sum, prod, min, max, avg, got mean}}
  %0 = "relax.ccl_allreduce"(%x) {op_type = "mean"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @workers(%x: tensor<4xf32>) {
  // expected-error@+1 {{'relax.ccl_allgather' op num_workers must be at least 1, got 0}}
  %0 = "relax.ccl_allgather"(%x) {num_workers = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>) {
  // expected-error@+1 {{'relax.ccl_allgather' op x needs a dimension to gather along}}
  %0 = "relax.ccl_allgather"(%x) {num_workers = 2 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @parts(%x: tensor<5xf32>) {
  // expected-error@+1 {{'relax.ccl_scatter_from_worker0' op axis 0 of 5 elements is not divisible by 2}}
  %0 = "relax.ccl_scatter_from_worker0"(%x) {num_workers = 2 : i64} : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unknown(%x: tensor<*xf32>) {
  // expected-error@+1 {{'relax.ccl_scatter_from_worker0' op the shape of what is scattered must be known}}
  %0 = "relax.ccl_scatter_from_worker0"(%x) {num_workers = 2 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  return
}
