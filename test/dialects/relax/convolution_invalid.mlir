// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<3x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{data must have 4 dimensions, got 3}}
  %a = "relax.conv2d"(%x, %w) : (tensor<3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<8x6x7xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x4x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{data has 4 channels, weight takes 3 for each of 1 groups}}
  %a = "relax.conv2d"(%x, %w) : (tensor<1x4x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x9x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{8 output channels do not divide into 3 groups}}
  %a = "relax.conv2d"(%x, %w) {groups = 3} : (tensor<1x9x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  return
}

// -----

func.func @window(%x: tensor<1x3x2x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{a window of 3 is larger than the padded size 2}}
  %a = "relax.conv2d"(%x, %w) : (tensor<1x3x2x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x1x7xf32>
  return
}

// -----

func.func @layout(%x: tensor<1x3x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{a layout here has the letters of 'NCHW', got 'NCHX'}}
  %a = "relax.conv2d"(%x, %w) {data_layout = "NCHX"} : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  return
}

// -----

func.func @padding(%x: tensor<1x3x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{padding takes 1, 2 or 4 integers, got [1, 1, 1]}}
  %a = "relax.conv2d"(%x, %w) {padding = array<i64: 1, 1, 1>} : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x6x7xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x3x8x9xf32>) attributes {relax.function} {
  // expected-error@+1 {{strides takes one or two positive integers, got [0]}}
  %a = "relax.max_pool2d"(%x) {strides = array<i64: 0>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @result(%x: tensor<1x3x8x9xf32>, %w: tensor<8x3x3x3xf32>) attributes {relax.function} {
  // expected-error@+1 {{result must be R.Tensor((1, 8, 6, 7), "float32"), declared R.Tensor((1, 8, 8, 9), "float32")}}
  %a = "relax.conv2d"(%x, %w) : (tensor<1x3x8x9xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x8x9xf32>
  return
}

// -----

func.func @signals(%a: tensor<1x3x8x9xf32>, %b: tensor<8x3x3xf32>) {
  // expected-error@+1 {{'relax.conv1d' op data must have 3 dimensions, got 4}}
  %0 = "relax.conv1d"(%a, %b) : (tensor<1x3x8x9xf32>, tensor<8x3x3xf32>) -> tensor<1x8x6xf32>
  return
}

// -----

func.func @volumes(%a: tensor<1x2x3x4x5xf32>) {
  // expected-error@+1 {{'relax.max_pool3d' op padding takes 1, 3 or 6 integers, got [1, 1]}}
  %0 = "relax.max_pool3d"(%a) {padding = array<i64: 1, 1>} : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  return
}

// -----

func.func @output_padding(%a: tensor<1x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  // expected-error@+1 {{'relax.conv2d_transpose' op output_padding [1, 1] must be below the strides or dilations [1, 1]}}
  %0 = "relax.conv2d_transpose"(%a, %b) {output_padding = array<i64: 1>} : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32>
  return
}

// -----

func.func @parts(%a: tensor<1x2x3x4xi1>) {
  // expected-error@+1 {{'relax.adaptive_avg_pool2d' op data must have a numeric dtype, got bool}}
  %0 = "relax.adaptive_avg_pool2d"(%a) {output_size = array<i64: 1>} : (tensor<1x2x3x4xi1>) -> tensor<1x2x1x1xi1>
  return
}

// -----

func.func @block_size(%x: tensor<2x4x8x8x8xf32>) {
  // expected-error@+1 {{'relax.max_pool2d' op data must have blocks of 16 along 'C', got 8}}
  %0 = "relax.max_pool2d"(%x) {layout = "NCHW16c"} : (tensor<2x4x8x8x8xf32>) -> tensor<2x4x8x8x8xf32>
  return
}

// -----

func.func @no_whole_blocks(%x: tensor<2x6x8x8xf32>) {
  // expected-error@+1 {{'relax.max_pool2d' op 6 along 'C' are no whole blocks of 4}}
  %0 = "relax.max_pool2d"(%x) {out_layout = "NCHW4c"} : (tensor<2x6x8x8xf32>) -> tensor<2x1x8x8x4xf32>
  return
}
