// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<2x5xf32>, %p: tensor<5xf32>) attributes {relax.function} {
  // expected-error@+1 {{axis 2 is out of range for a tensor of 2 dimensions}}
  %a = "relax.batch_norm"(%x, %p, %p, %p, %p) {axis = 2} : (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tuple<tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>>
  return
}

// -----

func.func @parameter(%x: tensor<2x5xf32>, %p: tensor<5xf32>, %q: tensor<4xf32>) attributes {relax.function} {
  // expected-error@+1 {{moving_mean must have 5 elements along an axis, got 4}}
  %a = "relax.batch_norm"(%x, %p, %p, %q, %p) {axis = 1} : (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4xf32>, tensor<5xf32>) -> tuple<tensor<2x5xf32>, tensor<4xf32>, tensor<5xf32>>
  return
}

// -----

func.func @dtype(%x: tensor<2x5xi32>, %p: tensor<5xi32>) attributes {relax.function} {
  // expected-error@+1 {{data must have a floating-point dtype, got int32}}
  %a = "relax.layer_norm"(%x, %p, %p) : (tensor<2x5xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<2x5xi32>
  return
}

// -----

func.func @rank(%x: tensor<2x5xf32>, %p: tensor<2x5xf32>) attributes {relax.function} {
  // expected-error@+1 {{gamma must have 1 dimensions, got 2}}
  %a = "relax.layer_norm"(%x, %p, %p) : (tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @rate(%x: tensor<2x5xf32>) attributes {relax.function} {
  // expected-error@+1 {{rate must be at least 0 and below 1, got 1.0}}
  %a = "relax.dropout"(%x) {rate = 1.0 : f64} : (tensor<2x5xf32>) -> tuple<tensor<2x5xf32>, tensor<2x5xf32>>
  return
}

// -----

func.func @weight_shape(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'relax.rms_norm' op weight must have 3 elements along an axis, got 2}}
  %0 = "relax.rms_norm"(%a, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @groups(%a: tensor<2x6x3xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error@+1 {{'relax.group_norm' op 6 channels do not divide into 4 groups}}
  %0 = "relax.group_norm"(%a, %b, %c) {num_groups = 4 : i64, channel_axis = 1 : i64, axes = array<i64: 2>} : (tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3xf32>
  return
}

// -----

func.func @channel_among_axes(%a: tensor<2x6x3xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error@+1 {{'relax.instance_norm' op axes must be distinct, got [1, 1]}}
  %0 = "relax.instance_norm"(%a, %b, %c) {channel_axis = 1 : i64, axes = array<i64: 1>} : (tensor<2x6x3xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x3xf32>
  return
}
