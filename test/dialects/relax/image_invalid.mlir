// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{data must have 4 dimensions, got 3}}
  %0 = "relax.resize2d"(%x, %s) : (tensor<3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<3x8x9xf32>
  return
}

// -----

func.func @size(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9, 1)>>>) {
  // expected-error@+1 {{size needs one or 2 numbers, got 3}}
  %0 = "relax.resize2d"(%x, %s) : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9, 1)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @result(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{result must be R.Tensor((1, 3, 8, 9), "float32"), declared R.Tensor((1, 3, 9, 8), "float32")}}
  %0 = "relax.resize2d"(%x, %s) : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x9x8xf32>
  return
}

// -----

func.func @nothing(%x: tensor<1x3x0x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{there are no pixels for 8 along axis 2, which is 0}}
  %0 = "relax.resize2d"(%x, %s) : (tensor<1x3x0x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @bools(%x: tensor<1x3x4x5xi1>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{pixels of dtype bool have no linear interpolation}}
  %0 = "relax.resize2d"(%x, %s) : (tensor<1x3x4x5xi1>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xi1>
  return
}

// -----

func.func @layout(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{data must have 5 dimensions, got 4}}
  %0 = "relax.resize2d"(%x, %s) {layout = "NCHW4c"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @method(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{method must be one of nearest_neighbor, linear, cubic, got 'area'}}
  %0 = "relax.resize2d"(%x, %s) {method = "area"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @mode(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{coordinate_transformation_mode must be one of half_pixel, align_corners, asymmetric, pytorch_half_pixel, tf_half_pixel_for_nn, tf_crop_and_resize, got 'corners'}}
  %0 = "relax.resize2d"(%x, %s) {coordinate_transformation_mode = "corners"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @rounding(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{rounding_method must be one of round, round_prefer_floor, round_prefer_ceil, floor, ceil, got 'up'}}
  %0 = "relax.resize2d"(%x, %s) {rounding_method = "up"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @roi(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{roi needs 4 numbers, the first and the last corner, got [0.0, 1.0]}}
  %0 = "relax.resize2d"(%x, %s) {roi = array<f64: 0.0, 1.0>} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @roi_of_integers(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{attribute 'roi': expected floats, as in array<f64: 1.0, 2.0>, got array<i64: 0, 0, 1, 1>}}
  %0 = "relax.resize2d"(%x, %s) {roi = array<i64: 0, 0, 1, 1>} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @crop(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{tf_crop_and_resize needs the roi that it takes}}
  %0 = "relax.resize2d"(%x, %s) {coordinate_transformation_mode = "tf_crop_and_resize"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}

// -----

func.func @dtype(%x: tensor<1x3x4x5xf32>, %s: !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) {
  // expected-error@+1 {{unknown dtype 'float33'}}
  %0 = "relax.resize2d"(%x, %s) {out_dtype = "float33"} : (tensor<1x3x4x5xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (8, 9)>>>) -> tensor<1x3x8x9xf32>
  return
}
