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

!t2_n_784_f32 = tensor<2x?x784xf32, #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 784)>>>
!t2_n_10_f32 = tensor<2x?x10xf32, #relax.dims<["n"], affine_map<()[s0] -> (2, s0, 10)>>>
!n_f32 = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_3_f32 = tensor<?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!b_n_k_f32 = tensor<?x?x?xf32, #relax.dims<["b", "k", "n"], affine_map<()[s0, s1, s2] -> (s0, s2, s1)>>>
!b_k_m_f32 = tensor<?x?x?xf32, #relax.dims<["b", "k", "m"], affine_map<()[s0, s1, s2] -> (s0, s1, s2)>>>
!b_n_m_f32 = tensor<?x?x?xf32, #relax.dims<["b", "m", "n"], affine_map<()[s0, s1, s2] -> (s0, s2, s1)>>>
!n_n_3_f32 = tensor<?x?x3xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, s0, 3)>>>
!t5_1_n_f32 = tensor<5x1x?xf32, #relax.dims<["n"], affine_map<()[s0] -> (5, 1, s0)>>>
!t4_n_f32 = tensor<4x?xf32, #relax.dims<["n"], affine_map<()[s0] -> (4, s0)>>>

// A weight has the features of the result as rows.
// CHECK-LABEL: func.func @linear(
func.func @linear(%a0: !t2_n_784_f32, %a1: tensor<10x784xf32>, %a2: tensor<10xf32>) -> !t2_n_10_f32 attributes {relax.function} {
  // CHECK: "relax.linear"{{.*}} -> tensor<2x?x10xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.linear"(%a0, %a1, %a2) : (!t2_n_784_f32, tensor<10x784xf32>, tensor<10xf32>) -> !t2_n_10_f32
  return %0 : !t2_n_10_f32
}

// CHECK-LABEL: func.func @linear_of_unknown_rank(
func.func @linear_of_unknown_rank(%a0: tensor<*xf32>, %a1: tensor<10x784xf32>) -> tensor<*xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  // CHECK: "relax.linear"{{.*}} -> tensor<*xf32>
  %1 = "relax.linear"(%a0, %a1, %0) : (tensor<*xf32>, tensor<10x784xf32>, tuple<>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// CHECK-LABEL: func.func @outer(
func.func @outer(%a0: !n_f32, %a1: tensor<3xf32>) -> !n_3_f32 attributes {relax.function} {
  // CHECK: "relax.outer"{{.*}} -> tensor<?x3xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.outer"(%a0, %a1) : (!n_f32, tensor<3xf32>) -> !n_3_f32
  return %0 : !n_3_f32
}

// CHECK-LABEL: func.func @einsum(
func.func @einsum(%a0: !b_n_k_f32, %a1: !b_k_m_f32) -> !b_n_m_f32 attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %a0, %a1 : !b_n_k_f32, !b_k_m_f32 to tuple<!b_n_k_f32, !b_k_m_f32>
  // CHECK: "relax.einsum"{{.*}} -> tensor<?x?x?xf32, #relax.dims<["b", "m", "n"], #{{.*}}>>
  %1 = "relax.einsum"(%0) {subscripts = "bij,bjk->bik"} : (tuple<!b_n_k_f32, !b_k_m_f32>) -> !b_n_m_f32
  return %1 : !b_n_m_f32
}

// CHECK-LABEL: func.func @einsum_in_alphabetical_order(
func.func @einsum_in_alphabetical_order(%a0: tensor<2x3xi32>, %a1: tensor<2x5xi32>) -> tensor<5x3xi32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %a0, %a1 : tensor<2x3xi32>, tensor<2x5xi32> to tuple<tensor<2x3xi32>, tensor<2x5xi32>>
  // CHECK: "relax.einsum"{{.*}} -> tensor<5x3xi32>
  %1 = "relax.einsum"(%0) {subscripts = "ji,jh"} : (tuple<tensor<2x3xi32>, tensor<2x5xi32>>) -> tensor<5x3xi32>
  return %1 : tensor<5x3xi32>
}

// CHECK-LABEL: func.func @einsum_of_a_diagonal(
func.func @einsum_of_a_diagonal(%a0: !n_n_3_f32) -> tensor<3xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %a0 : !n_n_3_f32 to tuple<!n_n_3_f32>
  // CHECK: "relax.einsum"{{.*}} -> tensor<3xf32>
  %1 = "relax.einsum"(%0) {subscripts = "ii..."} : (tuple<!n_n_3_f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// What an ellipsis stands for broadcasts.
// CHECK-LABEL: func.func @einsum_that_broadcasts(
func.func @einsum_that_broadcasts(%a0: !t5_1_n_f32, %a1: !t4_n_f32) -> tensor<5x4xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %a0, %a1 : !t5_1_n_f32, !t4_n_f32 to tuple<!t5_1_n_f32, !t4_n_f32>
  // CHECK: "relax.einsum"{{.*}} -> tensor<5x4xf32>
  %1 = "relax.einsum"(%0) {subscripts = "...i,...i->..."} : (tuple<!t5_1_n_f32, !t4_n_f32>) -> tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @einsum_of_unknown_rank(
func.func @einsum_of_unknown_rank(%a0: tensor<*xf32>, %a1: tensor<4xf32>) -> tensor<?xf32> attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %a0, %a1 : tensor<*xf32>, tensor<4xf32> to tuple<tensor<*xf32>, tensor<4xf32>>
  // CHECK: "relax.einsum"{{.*}} -> tensor<?xf32>
  %1 = "relax.einsum"(%0) {subscripts = "ij,j->i"} : (tuple<tensor<*xf32>, tensor<4xf32>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
