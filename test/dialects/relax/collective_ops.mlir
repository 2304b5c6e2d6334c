// RUN: relax-opt %s | relax-opt | FileCheck %s

!n_4_f32 = tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 4)>>>
!two_n_4_f32 = tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0 * 2, 4)>>>
!n_2_f32 = tensor<?x2xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 2)>>>

// CHECK-LABEL: func.func @collectives(
func.func @collectives(%x: !n_4_f32) -> !n_2_f32 attributes {relax.function} {
  // CHECK: "relax.ccl_allreduce"({{.*}}) {in_group = true, op_type = "prod"}
  %0 = "relax.ccl_allreduce"(%x) {in_group = true, op_type = "prod"} : (!n_4_f32) -> !n_4_f32
  // CHECK: "relax.ccl_allgather"({{.*}}) {num_workers = 2 : i64}
  %1 = "relax.ccl_allgather"(%0) {num_workers = 2 : i64} : (!n_4_f32) -> !two_n_4_f32
  // CHECK: "relax.ccl_broadcast_from_worker0"
  %2 = "relax.ccl_broadcast_from_worker0"(%x) : (!n_4_f32) -> !n_4_f32
  // CHECK: "relax.ccl_scatter_from_worker0"({{.*}}) {axis = 1 : i64, num_workers = 2 : i64}
  %3 = "relax.ccl_scatter_from_worker0"(%2) {axis = 1 : i64, num_workers = 2 : i64} : (!n_4_f32) -> !n_2_f32
  return %3 : !n_2_f32
}

// CHECK-LABEL: func.func @unknown(
func.func @unknown(%x: tensor<*xf32>) -> tensor<*xf32> attributes {relax.function} {
  // CHECK: "relax.ccl_allgather"
  %0 = "relax.ccl_allgather"(%x) {num_workers = 2 : i64} : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
