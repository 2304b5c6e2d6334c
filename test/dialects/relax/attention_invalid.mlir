// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @rank(%a: tensor<2x3x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op query must have 4 dimensions, got 3}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) : (tensor<2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @depth(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x3x5xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op depths of query and key must match, got 4 and 5}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) : (tensor<1x2x3x4xf32>, tensor<1x2x3x5xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @heads(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x7x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op numbers of heads of key and value must match, got 7 and 3}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) : (tensor<1x2x3x4xf32>, tensor<1x2x7x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @mask(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op causal_mask must be one of TopLeft, BottomRight or None, got Top}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) {causal_mask = "Top"} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @bias(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tensor<2xf32>) {
  %no_mask = builtin.unrealized_conversion_cast to tuple<>
  // expected-error@+1 {{'relax.attention' op bias must have 2, 3 or 4 dimensions, got 1}}
  %0 = "relax.attention"(%a, %b, %c, %d, %no_mask) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<2xf32>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @window(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op window_size needs causal_mask='BottomRight'}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) {window_size = 1 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @groups(%a: tensor<1x2x7x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op the number of heads of query must be a multiple of that of key, got 7 and 3}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) : (tensor<1x2x7x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x7x4xf32>
  return
}

// -----

func.func @layout(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x3x4xf32>, %c: tensor<1x2x3x4xf32>, %d: tuple<>) {
  // expected-error@+1 {{'relax.attention' op layout must be letters of BSNH with S and H, or four such by comma, got 'BSNC'}}
  %0 = "relax.attention"(%a, %b, %c, %d, %d) {layout = "BSNC"} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tuple<>, tuple<>) -> tensor<1x2x3x4xf32>
  return
}
