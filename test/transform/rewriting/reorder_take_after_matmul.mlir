// RUN: relax-opt %s --reorder-take-after-matmul | FileCheck %s

// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[T:.*]]: tensor<4x9xf32>, %[[I:.*]]: tensor<3xi64>)
// CHECK: %[[P:.*]] = "relax.matmul"(%[[X]], %[[T]]) {{.*}} -> tensor<2x9xf32>
// CHECK: "relax.take"(%[[P]], %[[I]]) {axis = 1
func.func @columns(%x: tensor<2x4xf32>, %t: tensor<4x9xf32>, %i: tensor<3xi64>) -> tensor<2x3xf32> attributes {relax.function} {
  %w = "relax.take"(%t, %i) {axis = 1 : i64} : (tensor<4x9xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  %r = "relax.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
