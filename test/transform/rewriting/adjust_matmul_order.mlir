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

// CHECK-LABEL: func.func @vector
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[A:.*]]: tensor<8x2xf32>, %[[B:.*]]: tensor<2x8xf32>)
// CHECK: %[[P:.*]] = "relax.matmul"(%[[X]], %[[A]]) {{.*}} -> tensor<2xf32>
// CHECK: "relax.matmul"(%[[P]], %[[B]])
func.func @vector(%x: tensor<8xf32>, %a: tensor<8x2xf32>, %b: tensor<2x8xf32>) -> tensor<8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%x, %p) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A vector times matrices of a batch is a matrix to the next product.

// CHECK-LABEL: func.func @vector_of_batch
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) : (tensor<3x8x2xf32>, tensor<3x2x8xf32>)
func.func @vector_of_batch(%x: tensor<8xf32>, %a: tensor<3x8x2xf32>, %b: tensor<3x2x8xf32>) -> tensor<3x8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<3x8x2xf32>, tensor<3x2x8xf32>) -> tensor<3x8x8xf32>
  %r = "relax.matmul"(%x, %p) : (tensor<8xf32>, tensor<3x8x8xf32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) {{.*}} -> tensor<3x1x2xf32>
func.func @batch(%x: tensor<3x1x8xf32>, %a: tensor<8x2xf32>, %b: tensor<3x2x8xf32>) -> tensor<3x1x8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x2xf32>, tensor<3x2x8xf32>) -> tensor<3x8x8xf32>
  %r = "relax.matmul"(%x, %p) : (tensor<3x1x8xf32>, tensor<3x8x8xf32>) -> tensor<3x1x8xf32>
  return %r : tensor<3x1x8xf32>
}

// CHECK-LABEL: func.func @transposed
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[A:.*]]: tensor<8x2xf32>, %[[B:.*]]: tensor<2x8xf32>)
// CHECK: %[[BT:.*]] = "relax.permute_dims"(%[[B]])
// CHECK: %[[P:.*]] = "relax.matmul"(%[[X]], %[[BT]])
// CHECK: %[[AT:.*]] = "relax.permute_dims"(%[[A]])
// CHECK: "relax.matmul"(%[[P]], %[[AT]])
func.func @transposed(%x: tensor<8xf32>, %a: tensor<8x2xf32>, %b: tensor<2x8xf32>) -> tensor<8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %t = "relax.permute_dims"(%p) {axes = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%x, %t) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @axes_in_order
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) : (tensor<8x2xf32>, tensor<2x8xf32>)
func.func @axes_in_order(%x: tensor<8xf32>, %a: tensor<8x2xf32>, %b: tensor<2x8xf32>) -> tensor<8xf32> attributes {relax.function} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %t = "relax.permute_dims"(%p) {axes = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%x, %t) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A product of weights is computed before the function runs.

// CHECK-LABEL: func.func @weights
// CHECK: "relax.matmul"(%{{.*}}, %{{.*}}) : (tensor<8x2xf32>, tensor<2x8xf32>)
func.func @weights(%x: tensor<8xf32>, %a: tensor<8x2xf32>, %b: tensor<2x8xf32>) -> tensor<8xf32> attributes {relax.function, relax.num_input = 1 : i64} {
  %p = "relax.matmul"(%a, %b) : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  %r = "relax.matmul"(%x, %p) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
