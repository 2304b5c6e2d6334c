// RUN: relax-opt %s --legalize-ops --split-input-file | FileCheck %s

// The padded image first, then one block over output elements and the window.

#image = affine_map<()[s0] -> (s0, 2, 5, 5)>
#out = affine_map<()[s0] -> (s0, 3, 5, 5)>
!X = tensor<?x2x5x5xf32, #relax.dims<["n"], #image>>
!Y = tensor<?x3x5x5xf32, #relax.dims<["n"], #out>>
!W = tensor<3x2x3x3xf32>

// CHECK-LABEL: func.func @plain(
// CHECK: "relax.call_tir"(%{{.*}}, %{{.*}}) {callee = @conv2d}
// CHECK-LABEL: func.func private @conv2d(
// CHECK: memref.alloc(%{{.*}}) {{.*}}tir.name = "Padded"{{.*}} : memref<?x2x7x7xf32>
// CHECK: block_name = "pad"
// CHECK: block_name = "image"
// CHECK: "tir.block"
// CHECK: "tir.reads"(%{{.*}}) {map = #[[WINDOW:.*]]} : (memref<?x2x7x7xf32>) -> ()
// CHECK: arith.mulf
// CHECK: block_name = "conv2d", iter_types = ["spatial", "spatial", "spatial", "spatial", "reduction", "reduction", "reduction"]
func.func @plain(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !Y
  return %y : !Y
}

// -----

// Without padding there is no copy; a group is an axis of its own, but not of the result.

// CHECK-LABEL: func.func @grouped
// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: Padded
// CHECK-NOT: memref.alloc
// CHECK: iter_types = ["spatial", "spatial", "spatial", "spatial", "spatial", "reduction", "reduction", "reduction"]
func.func @grouped(%x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {groups = 2} : (tensor<1x4x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32>
  return %y : tensor<1x6x3x3xf32>
}

// -----

// Kernels in blocks of output channels give the loops over channels that form.

// CHECK-LABEL: func.func @blocked
// CHECK-LABEL: func.func private @conv2d(
// CHECK-SAME: memref<2x3x3x4x16xf32>
// CHECK: [[BLOCK:%.*]] = arith.muli
// CHECK: [[CHANNEL:%.*]] = arith.addi [[BLOCK]], %[[LANE:arg[0-9]+]]
// CHECK: memref.load %arg2[{{.*}}, [[CHANNEL]],
// CHECK: memref.load %arg1[{{.*}}, %[[LANE]]] : memref<2x3x3x4x16xf32>
func.func @blocked(%x: tensor<1x4x5x5xf32>, %w: tensor<2x3x3x4x16xf32>) -> tensor<1x32x3x3xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {kernel_layout = "OHWI16o"} : (tensor<1x4x5x5xf32>, tensor<2x3x3x4x16xf32>) -> tensor<1x32x3x3xf32>
  return %y : tensor<1x32x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @pools
// CHECK-LABEL: func.func private @max_pool2d
// CHECK: arith.maximumf
// CHECK-LABEL: func.func private @avg_pool2d
// CHECK-COUNT-2: block_name = "counts"
// CHECK: arith.addf
// CHECK: block_name = "mean"
func.func @pools(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32> attributes {relax.function} {
  %y = "relax.max_pool2d"(%x) {pool_size = array<i64: 2>, strides = array<i64: 2>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32>
  %z = "relax.avg_pool2d"(%y) {pool_size = array<i64: 3>, padding = array<i64: 1>} : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %z : tensor<1x4x3x3xf32>
}

// -----

// Channels that are a symbol have to be those of all groups, wherever that symbol is.

!X = tensor<1x?x9x9xf32, #relax.dims<["c"], affine_map<()[s0] -> (1, s0, 9, 9)>>>
!W = tensor<?x1x3x3xf32, #relax.dims<["c"], affine_map<()[s0] -> (s0, 1, 3, 3)>>>
!Y = tensor<1x?x7x7xf32, #relax.dims<["c"], affine_map<()[s0] -> (1, s0, 7, 7)>>>

// CHECK-LABEL: func.func @channels(
// CHECK: %[[X:.*]] = "relax.match_cast"(%{{.*}}) {{.*}} -> tensor<1x6x9x9xf32>
// CHECK: %[[W:.*]] = "relax.match_cast"(%{{.*}}) {{.*}} -> tensor<6x1x3x3xf32>
// CHECK: unrealized_conversion_cast %[[X]], %[[W]]
// CHECK: %[[Y:.*]] = "relax.call_tir"({{.*}}) {callee = @conv2d}
// CHECK: "relax.match_cast"(%[[Y]])
func.func @channels(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {groups = 6} : (!X, !W) -> !Y
  return %y : !Y
}

// -----

// Of unknown shape it is the library's.

// CHECK-LABEL: func.func @unknown
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.conv2d", static_args = [array<i64: 1, 1>, array<i64: 0, 0, 0, 0>, array<i64: 1, 1>, 1, "NCHW", "OIHW", unit, unit]}
func.func @unknown(%x: tensor<?x?x?x?xf32>, %w: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %y : tensor<?x?x?x?xf32>
}

// -----

// That a window fits in what has an unknown size is asserted: a size cannot be negative. Of two
// places where it has to fit one is known to have room.

// CHECK-LABEL: func.func @room(
// CHECK: %[[ROOM:.*]] = "relax.shape_expr"() {what = "room for windows of 'max_pool2d'"} : () -> !relax.shape<#[[LEFT:.*]]>
// CHECK: "relax.match_cast"(%[[ROOM]])
// CHECK: "relax.call_tir"
#any = #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 2, s0, s1)>>
#less = #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 2, s0 - 2, s1 + 2)>>
func.func @room(%x: tensor<1x2x?x?xf32, #any>) -> tensor<1x2x?x?xf32, #less> attributes {relax.function} {
  %y = "relax.max_pool2d"(%x) {pool_size = array<i64: 3>, padding = array<i64: 0, 2>} : (tensor<1x2x?x?xf32, #any>) -> tensor<1x2x?x?xf32, #less>
  return %y : tensor<1x2x?x?xf32, #less>
}
