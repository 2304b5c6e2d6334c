// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_3_8_8_f32 = tensor<?x3x8x8xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3, 8, 8)>>>
!n_3_4_4_f32 = tensor<?x3x4x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3, 4, 4)>>>

// CHECK-LABEL: func.func @pooling(
func.func @pooling(%g: !n_3_4_4_f32, %x: !n_3_8_8_f32) -> !n_3_8_8_f32 attributes {relax.function} {
  // CHECK: "relax.grad_max_pool2d_backward"({{.*}}) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>}
  %0 = "relax.grad_max_pool2d_backward"(%g, %x) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (!n_3_4_4_f32, !n_3_8_8_f32) -> !n_3_8_8_f32
  // CHECK: "relax.grad_avg_pool2d_backward"
  %1 = "relax.grad_avg_pool2d_backward"(%g, %0) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (!n_3_4_4_f32, !n_3_8_8_f32) -> !n_3_8_8_f32
  return %1 : !n_3_8_8_f32
}

// CHECK-LABEL: func.func @loss(
func.func @loss(%g: tensor<f32>, %x: tensor<3x5xf32>, %t: tensor<3xi64>, %w: tensor<5xf32>) -> tensor<3x5xf32> attributes {relax.function} {
  // CHECK: "relax.grad_nll_loss_backward"({{.*}}) {reduction = "sum"}
  %0 = "relax.grad_nll_loss_backward"(%g, %x, %t, %w) {reduction = "sum"} : (tensor<f32>, tensor<3x5xf32>, tensor<3xi64>, tensor<5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @take(
func.func @take(%g: tensor<3x2xf32>, %x: tensor<3x5xf32>, %i: tensor<2xi64>) -> tensor<3x5xf32> attributes {relax.function} {
  // CHECK: "relax.grad_take_backward"({{.*}}) {axis = 1 : i64}
  %0 = "relax.grad_take_backward"(%g, %x, %i) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
