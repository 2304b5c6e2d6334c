// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --legalize-ops | FileCheck %s --check-prefix=KERNEL

!images = tensor<?x3x8x9xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3, 8, 9)>>>
!rois = tensor<?x5xf32, #relax.dims<["r"], affine_map<()[s0] -> (s0, 5)>>>
!bins = tensor<?x3x2x2xf32, #relax.dims<["r"], affine_map<()[s0] -> (s0, 3, 2, 2)>>>
!boxes = tensor<2x?x6xf32, #relax.dims<["m"], affine_map<()[s0] -> (2, s0, 6)>>>
!places = tensor<2x?xi32, #relax.dims<["m"], affine_map<()[s0] -> (2, s0)>>>

// CHECK-LABEL: func.func @regions(
// KERNEL-LABEL: func.func @regions(
func.func @regions(%x: !images, %r: !rois) -> !bins attributes {relax.function} {
  // CHECK: "relax.roi_align"({{.*}}, {{.*}}) {mode = "max", pooled_size = 2 : i64, spatial_scale = 5.000000e-01 : f64}
  // KERNEL: "relax.call_tir"
  // KERNEL-SAME: callee = @roi_align
  %0 = "relax.roi_align"(%x, %r) {pooled_size = 2 : i64, spatial_scale = 0.5, mode = "max"} : (!images, !rois) -> !bins
  // CHECK: "relax.roi_pool"
  // KERNEL: callee = @roi_pool
  %1 = "relax.roi_pool"(%x, %r) {pooled_size = array<i64: 2, 2>, spatial_scale = 1.0} : (!images, !rois) -> !bins
  %2 = "relax.add"(%0, %1) : (!bins, !bins) -> !bins
  return %2 : !bins
}

// CHECK-LABEL: func.func @suppressed(
// KERNEL-LABEL: func.func @suppressed(
func.func @suppressed(%x: !boxes, %c: tensor<2xi32>, %i: !places) -> tuple<!places, tensor<2x1xi32>> attributes {relax.function} {
  // CHECK: "relax.non_max_suppression"
  // KERNEL: callee = @non_max_suppression
  %0 = "relax.non_max_suppression"(%x, %c, %i) {top_k = 5 : i64} : (!boxes, tensor<2xi32>, !places) -> tuple<!places, tensor<2x1xi32>>
  return %0 : tuple<!places, tensor<2x1xi32>>
}

// Boxes of an unknown number of numbers are the library's: which one is read has to be there.
// CHECK-LABEL: func.func @counts(
// KERNEL-LABEL: func.func @counts(
func.func @counts(%x: tensor<?x?x?xf32>) -> tuple<tensor<?xi32>, tensor<?x?x?xf32>, tensor<?x?xi32>> attributes {relax.function} {
  // CHECK: "relax.get_valid_counts"
  // KERNEL: "relax.call_pure_packed"
  // KERNEL-SAME: vm.op.get_valid_counts
  %0 = "relax.get_valid_counts"(%x) : (tensor<?x?x?xf32>) -> tuple<tensor<?xi32>, tensor<?x?x?xf32>, tensor<?x?xi32>>
  return %0 : tuple<tensor<?xi32>, tensor<?x?x?xf32>, tensor<?x?xi32>>
}

// As many rows as there are boxes: counted, then bound to a symbol.
// CHECK-LABEL: func.func @classes(
// KERNEL-LABEL: func.func @classes(
func.func @classes(%b: tensor<2x9x4xf32>, %s: tensor<2x3x9xf32>, %most: tensor<i64>, %share: tensor<f32>) -> tuple<tensor<?x?xi64>, tensor<1xi64>> attributes {relax.function} {
  // CHECK: "relax.all_class_non_max_suppression"
  // KERNEL: callee = @all_class_non_max_suppression
  // KERNEL: vm.builtin.tensor_to_shape
  // KERNEL: "relax.match_cast"
  // KERNEL: callee = @first_rows
  %0 = "relax.all_class_non_max_suppression"(%b, %s, %most, %share, %share) : (tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tuple<tensor<?x?xi64>, tensor<1xi64>>
  return %0 : tuple<tensor<?x?xi64>, tensor<1xi64>>
}

// CHECK-LABEL: func.func @decoded(
// KERNEL-LABEL: func.func @decoded(
func.func @decoded(%c: tensor<2x3x9xf32>, %l: tensor<2x36xf32>, %a: tensor<1x9x4xf32>) -> tuple<tensor<2x9x4xf32>, tensor<2x3x9xf32>> attributes {relax.function} {
  // CHECK: "relax.multibox_transform_loc"
  // KERNEL: callee = @multibox_transform_loc
  %0 = "relax.multibox_transform_loc"(%c, %l, %a) : (tensor<2x3x9xf32>, tensor<2x36xf32>, tensor<1x9x4xf32>) -> tuple<tensor<2x9x4xf32>, tensor<2x3x9xf32>>
  return %0 : tuple<tensor<2x9x4xf32>, tensor<2x3x9xf32>>
}
