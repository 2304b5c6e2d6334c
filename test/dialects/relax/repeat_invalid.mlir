// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @negative(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.tile' op repeats cannot be negative, got [-1]}}
  %0 = "relax.tile"(%x) {repeats = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @size(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.tile' op result must be R.Tensor((2, 6), "float32"), declared R.Tensor((2, 3), "float32")}}
  %0 = "relax.tile"(%x) {repeats = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @times(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.repeat' op repeats cannot be negative, got -1}}
  %0 = "relax.repeat"(%x) {repeats = -1 : i64} : (tensor<2x3xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.flip' op axis 2 is out of range for a tensor of 2 dimensions}}
  %0 = "relax.flip"(%x) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @shifts(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.roll' op several shifts need an axis each}}
  %0 = "relax.roll"(%x) {shift = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @shift_per_axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.roll' op needs a shift per axis, got 3 for 2}}
  %0 = "relax.roll"(%x) {shift = array<i64: 1, 2, 3>, axis = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @widths(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op pad_width needs 4 integers, got 2}}
  %0 = "relax.pad"(%x) {pad_width = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @mode(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op pad_mode must be one of constant, reflect, replicate, circular, got 'edge'}}
  %0 = "relax.pad"(%x) {pad_width = array<i64: 1, 2, 0, 0>, pad_mode = "edge"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @shrink(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op pad_width cannot be negative, got [-1, 2, 0, 0]}}
  %0 = "relax.pad"(%x) {pad_width = array<i64: -1, 2, 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
