// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @result(%x: tensor<1x3x4x5xf32>, %r: tensor<7x5xf32>) {
  // expected-error@+1 {{result must be R.Tensor((7, 3, 2, 2), "float32"), declared R.Tensor((7, 3, 2, 3), "float32")}}
  %0 = "relax.roi_align"(%x, %r) {pooled_size = 2 : i64, spatial_scale = 1.0} : (tensor<1x3x4x5xf32>, tensor<7x5xf32>) -> tensor<7x3x2x3xf32>
  return
}

// -----

func.func @images(%x: tensor<1x3x4x5xi32>, %r: tensor<7x5xf32>) {
  // expected-error@+1 {{data must be floats, got int32}}
  %0 = "relax.roi_align"(%x, %r) {pooled_size = 2 : i64, spatial_scale = 1.0} : (tensor<1x3x4x5xi32>, tensor<7x5xf32>) -> tensor<7x3x2x2xi32>
  return
}

// -----

func.func @format(%b: tensor<2x9x4xf32>, %s: tensor<2x3x9xf32>, %most: tensor<i64>, %share: tensor<2xf32>) {
  // expected-error@+1 {{iou_threshold must be one number, got R.Tensor((2,), "float32")}}
  %0 = "relax.all_class_non_max_suppression"(%b, %s, %most, %share, %share) : (tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<?x?xi64>, tensor<1xi64>>
  return
}
