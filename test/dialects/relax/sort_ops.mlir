// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

!n_m_f32 = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_i64 = tensor<?x?xi64, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!t3_m_f32 = tensor<3x?xf32, #relax.dims<["m"], affine_map<()[s0] -> (3, s0)>>>
!t3_m_i32 = tensor<3x?xi32, #relax.dims<["m"], affine_map<()[s0] -> (3, s0)>>>
!n_i8 = tensor<?xi8, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_by_2_i32 = tensor<?xi32, #relax.dims<["n"], affine_map<()[s0] -> (s0 floordiv 2)>>>
!k_f32 = tensor<?xf32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!n_m_i32 = tensor<?x?xi32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>

// CHECK-LABEL: func.func @keeps_the_shape(
func.func @keeps_the_shape(%a0: !n_m_f32) -> !n_m_f32 attributes {relax.function} {
  // CHECK: "relax.sort"{{.*}} -> tensor<?x?xf32, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.sort"(%a0) {axis = 0 : i64, descending = true} : (!n_m_f32) -> !n_m_f32
  return %0 : !n_m_f32
}

// CHECK-LABEL: func.func @indices(
func.func @indices(%a0: !n_m_f32) -> !n_m_i64 attributes {relax.function} {
  // CHECK: "relax.argsort"{{.*}} -> tensor<?x?xi64, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.argsort"(%a0) {axis = -1 : i64, descending = false, dtype = "int64"} : (!n_m_f32) -> !n_m_i64
  return %0 : !n_m_i64
}

// CHECK-LABEL: func.func @both(
func.func @both(%a0: !n_m_f32) -> tuple<!t3_m_f32, !t3_m_i32> attributes {relax.function} {
  // CHECK: "relax.topk"{{.*}} -> tuple<tensor<3x?xf32, #relax.dims<["m"], #{{.*}}>>, tensor<3x?xi32, #relax.dims<["m"], #{{.*}}>>>
  %0 = "relax.topk"(%a0) {axis = 0 : i64, dtype = "int32", k = 3 : i64, largest = true, ret_type = "both"} : (!n_m_f32) -> tuple<!t3_m_f32, !t3_m_i32>
  return %0 : tuple<!t3_m_f32, !t3_m_i32>
}

// CHECK-LABEL: func.func @how_many_is_a_symbol(
func.func @how_many_is_a_symbol(%a0: !n_i8) -> !n_by_2_i32 attributes {relax.function} {
  // CHECK: "relax.topk"{{.*}} -> tensor<?xi32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.topk"(%a0) {axis = -1 : i64, dtype = "int32", k = #relax.dims<["n"], affine_map<()[s0] -> (s0 floordiv 2)>>, largest = true, ret_type = "indices"} : (!n_i8) -> !n_by_2_i32
  return %0 : !n_by_2_i32
}

// CHECK-LABEL: func.func @all_of_them(
func.func @all_of_them(%a0: !n_i8) -> !n_i8 attributes {relax.function} {
  // CHECK: "relax.topk"{{.*}} -> tensor<?xi8, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.topk"(%a0) {axis = -1 : i64, dtype = "int32", k = 0 : i64, largest = true, ret_type = "values"} : (!n_i8) -> !n_i8
  return %0 : !n_i8
}

// CHECK-LABEL: func.func @unknown_shape(
func.func @unknown_shape(%a0: tensor<?x?xi8>) -> tuple<tensor<?x?xi8>, tensor<?x?xi32>> attributes {relax.function} {
  // CHECK: "relax.topk"{{.*}} -> tuple<tensor<?x?xi8>, tensor<?x?xi32>>
  %0 = "relax.topk"(%a0) {axis = -1 : i64, dtype = "int32", k = 1 : i64, largest = true, ret_type = "both"} : (tensor<?x?xi8>) -> tuple<tensor<?x?xi8>, tensor<?x?xi32>>
  return %0 : tuple<tensor<?x?xi8>, tensor<?x?xi32>>
}

// CHECK-LABEL: func.func @buckets(
func.func @buckets(%a0: !n_m_f32, %a1: !k_f32) -> !n_m_i32 attributes {relax.function} {
  // CHECK: "relax.bucketize"{{.*}} -> tensor<?x?xi32, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.bucketize"(%a0, %a1) {out_int32 = true, right = false} : (!n_m_f32, !k_f32) -> !n_m_i32
  return %0 : !n_m_i32
}

// CHECK-LABEL: func.func @places(
func.func @places(%a0: !k_f32, %a1: !n_m_f32) -> !n_m_i64 attributes {relax.function} {
  // CHECK: "relax.searchsorted"{{.*}} -> tensor<?x?xi64, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.searchsorted"(%a0, %a1) {out_int32 = false, right = false} : (!k_f32, !n_m_f32) -> !n_m_i64
  return %0 : !n_m_i64
}
