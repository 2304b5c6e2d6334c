// RUN: relax-opt %s --expand-matmul-of-sum | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4x3xf32>)
// CHECK: %[[L:.*]] = "relax.matmul"(%[[X]], %[[A]])
// CHECK: %[[R:.*]] = "relax.matmul"(%[[X]], %[[B]])
// CHECK: "relax.add"(%[[L]], %[[R]])
func.func @sum(%x: tensor<2x4xf32>, %a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> tensor<2x3xf32> attributes {relax.function} {
  %s = "relax.add"(%a, %b) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = "relax.matmul"(%x, %s) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// What is broadcast stays.
// CHECK-LABEL: func.func @broadcast
// CHECK: "relax.add"
// CHECK: "relax.matmul"
// CHECK-NOT: "relax.matmul"
func.func @broadcast(%x: tensor<2x4xf32>, %a: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> attributes {relax.function} {
  %s = "relax.add"(%a, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %r = "relax.matmul"(%x, %s) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// A sum of weights is known before the function runs.
// CHECK-LABEL: func.func @weights
// CHECK: "relax.add"
// CHECK: "relax.matmul"
// CHECK-NOT: "relax.matmul"
func.func @weights(%x: tensor<2x4xf32>, %a: tensor<4x3xf32>, %b: tensor<4x3xf32>) -> tensor<2x3xf32> attributes {relax.function, relax.num_input = 1 : i64} {
  %s = "relax.add"(%a, %b) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = "relax.matmul"(%x, %s) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
