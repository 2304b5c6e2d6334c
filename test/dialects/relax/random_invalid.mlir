// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @key_dtype(%key: tensor<2xi64>, %shape: !relax.shape<2 : i64>) {
  // expected-error@+1 {{'relax.random_normal' op key must be of dtype uint64, got int64}}
  %0 = "relax.random_normal"(%key, %shape) {dtype = "float32", mean = 0.0, scale = 1.0} : (tensor<2xi64>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @key_shape(%key: tensor<3xui64>, %shape: !relax.shape<2 : i64>) {
  // expected-error@+1 {{'relax.random_uniform' op key must have shape (2,): a seed and a stream}}
  %0 = "relax.random_uniform"(%key, %shape) {dtype = "float32", high = 1.0, low = 0.0} : (tensor<3xui64>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @integers(%key: tensor<2xui64>, %shape: !relax.shape<2 : i64>) {
  // expected-error@+1 {{'relax.random_uniform' op random numbers have a floating-point dtype, got int32}}
  %0 = "relax.random_uniform"(%key, %shape) {dtype = "int32", high = 1.0, low = 0.0} : (tensor<2xui64>, !relax.shape<2 : i64>) -> tensor<?x?xi32>
  return
}

// -----

func.func @probabilities(%key: tensor<2xui64>, %prob: tensor<4xf32>) {
  // expected-error@+1 {{'relax.random_multinomial' op prob must have 2 dimensions, got 1}}
  %0 = "relax.random_multinomial"(%key, %prob) {dtype = "int64", num_samples = 5} : (tensor<2xui64>, tensor<4xf32>) -> tensor<4x5xi64>
  return
}
