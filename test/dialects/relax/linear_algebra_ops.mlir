// RUN: relax-opt %s | relax-opt | FileCheck %s

#n784 = affine_map<()[s0] -> (s0, 784)>
#n10 = affine_map<()[s0] -> (s0, 10)>
!x = tensor<?x784xf32, #relax.dims<["n"], #n784>>
!y = tensor<?x10xf32, #relax.dims<["n"], #n10>>

// CHECK-LABEL: func.func @dense(
func.func @dense(%x: !x, %w: tensor<784x10xf32>) -> !y attributes {relax.function} {
  // CHECK-NEXT: "relax.matmul"(%{{.*}}, %{{.*}}) : ({{.*}}, tensor<784x10xf32>) -> tensor<?x10xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.matmul"(%x, %w) : (!x, tensor<784x10xf32>) -> !y
  return %0 : !y
}

// CHECK-LABEL: func.func @batches_broadcast(
func.func @batches_broadcast(%x: tensor<5x1x2x3xf16>, %y: tensor<7x3x4xf16>) -> tensor<5x7x2x4xf16> attributes {relax.function} {
  // CHECK-NEXT: "relax.matmul"{{.*}} -> tensor<5x7x2x4xf16>
  %0 = "relax.matmul"(%x, %y) : (tensor<5x1x2x3xf16>, tensor<7x3x4xf16>) -> tensor<5x7x2x4xf16>
  return %0 : tensor<5x7x2x4xf16>
}

// CHECK-LABEL: func.func @vectors(
func.func @vectors(%x: tensor<3xf32>, %y: tensor<3x4xf32>) -> (tensor<f32>, tensor<4xf32>) attributes {relax.function} {
  // CHECK-NEXT: "relax.matmul"{{.*}} (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  %0 = "relax.matmul"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  // CHECK-NEXT: "relax.matmul"{{.*}} (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  %1 = "relax.matmul"(%x, %y) : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<f32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @rank_is_enough(
func.func @rank_is_enough(%x: tensor<?x?xf32>, %y: tensor<3xf32>) -> tensor<?xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.matmul"{{.*}} -> tensor<?xf32>
  %0 = "relax.matmul"(%x, %y) : (tensor<?x?xf32>, tensor<3xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
