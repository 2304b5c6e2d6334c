// RUN: relax-opt %s --adjust-matmul-order | FileCheck %s

// CHECK-LABEL: func.func @column
// CHECK-SAME: (%[[A:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8x8xf32>, %[[C:.*]]: tensor<8x1xf32>)
// CHECK: %[[P:.*]] = "relax.matmul"(%[[B]], %[[C]])
// CHECK: "relax.matmul"(%[[A]], %[[P]])
func.func @column(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x1xf32>) -> tensor<8x1xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%p, %c) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
  return %r : tensor<8x1xf32>
}

// CHECK-LABEL: func.func @row
// CHECK-SAME: (%[[A:.*]]: tensor<1x8xf32>, %[[B:.*]]: tensor<8x8xf32>, %[[C:.*]]: tensor<8x8xf32>)
// CHECK: %[[P:.*]] = "relax.matmul"(%[[A]], %[[B]])
// CHECK: "relax.matmul"(%[[P]], %[[C]])
func.func @row(%a: tensor<1x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<1x8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%b, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%a, %p) : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}
