// RUN: relax-opt %s --conv3d-to-conv2d | FileCheck %s

!X = tensor<?x16x4x6x8xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 16, 4, 6, 8)>>>
!Y = tensor<?x24x4x6x6xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 24, 4, 6, 6)>>>

// CHECK-DAG: #[[AS_IMAGES:.*]] = affine_map<()[s0] -> (s0 * 4, 16, 6, 8)>

// Slices become images, and what is computed of them slices again; padding of rows stays.

// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:[^:]*]]:
// CHECK: %[[W:.*]] = "relax.constant"
// CHECK: %[[SLICES:.*]] = "relax.permute_dims"(%[[X]]) {axes = array<i64: 0, 2, 1, 3, 4>}
// CHECK: %[[IMAGES:.*]] = "relax.reshape"(%[[SLICES]], {{.*}} -> tensor<?x16x6x8xf32, #relax.dims<["n"], #[[AS_IMAGES]]>>
// CHECK: %[[WINDOWS:.*]] = "relax.reshape"(%[[W]], {{.*}} -> tensor<24x16x3x3xf32>
// CHECK: %[[MADE:.*]] = "relax.conv2d"(%[[IMAGES]], %[[WINDOWS]]) {{.*}}padding = array<i64: 1, 0, 1, 0>
// CHECK: %[[AGAIN:.*]] = "relax.reshape"(%[[MADE]],
// CHECK: %[[Y:.*]] = "relax.permute_dims"(%[[AGAIN]]) {axes = array<i64: 0, 2, 1, 3, 4>}
// CHECK: return %[[Y]]
func.func @slices(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<24x16x1x3x3xf32>} : () -> tensor<24x16x1x3x3xf32>
  %y = "relax.conv3d"(%x, %w) {padding = array<i64: 0, 1, 0>} : (!X, tensor<24x16x1x3x3xf32>) -> !Y
  return %y : !Y
}

// Weights that are computed stay.

// CHECK-LABEL: func.func @computed
// CHECK-NOT: conv2d
func.func @computed(%x: !X, %w: tensor<24x16x1x3x3xf32>) -> !Y attributes {relax.function} {
  %y = "relax.conv3d"(%x, %w) {padding = array<i64: 0, 1, 0>} : (!X, tensor<24x16x1x3x3xf32>) -> !Y
  return %y : !Y
}
