// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#nm = affine_map<()[s0, s1] -> (s1, s0)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>
!nm = tensor<?x?xf32, #relax.dims<["m", "n"], #nm>>

// CHECK-LABEL: func.func @unary_keeps_the_type(
// CHECK-SAME: %[[X:.*]]: [[T:tensor<.*>]])
func.func @unary_keeps_the_type(%x: !n4) -> !n4 attributes {relax.function} {
  // CHECK-NEXT: %[[A:.*]] = "relax.exp"(%[[X]]) : ([[T]]) -> [[T]]
  %0 = "relax.exp"(%x) : (!n4) -> !n4
  // CHECK-NEXT: "relax.relu"(%[[A]]) : ([[T]]) -> [[T]]
  %1 = "relax.relu"(%0) : (!n4) -> !n4
  return %1 : !n4
}

// CHECK-LABEL: func.func @integers_have_abs(
func.func @integers_have_abs(%x: tensor<3xi8>) -> tensor<3xi8> attributes {relax.function} {
  // CHECK-NEXT: "relax.abs"(%{{.*}}) : (tensor<3xi8>) -> tensor<3xi8>
  %0 = "relax.abs"(%x) : (tensor<3xi8>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// CHECK-LABEL: func.func @broadcast_static(
func.func @broadcast_static(%x: tensor<5x1x4xf32>, %y: tensor<3x1xf32>) -> tensor<5x3x4xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.add"(%{{.*}}, %{{.*}}) : (tensor<5x1x4xf32>, tensor<3x1xf32>) -> tensor<5x3x4xf32>
  %0 = "relax.add"(%x, %y) : (tensor<5x1x4xf32>, tensor<3x1xf32>) -> tensor<5x3x4xf32>
  return %0 : tensor<5x3x4xf32>
}

// CHECK-LABEL: func.func @broadcast_symbolic(
func.func @broadcast_symbolic(%x: !n4, %y: tensor<4xf32>) -> !n4 attributes {relax.function} {
  // CHECK-NEXT: "relax.multiply"
  %0 = "relax.multiply"(%x, %y) : (!n4, tensor<4xf32>) -> !n4
  return %0 : !n4
}

// Two different symbols may be equal at run time: only the rank is known.
// CHECK-LABEL: func.func @broadcast_unknown(
func.func @broadcast_unknown(%x: !n4, %y: !nm) -> tensor<?x?xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.subtract"(%{{.*}}, %{{.*}}) : ({{.*}}) -> tensor<?x?xf32>
  %0 = "relax.subtract"(%x, %y) : (!n4, !nm) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @comparison_gives_bool(
func.func @comparison_gives_bool(%x: tensor<2xui8>, %y: tensor<2xui8>) -> tensor<2xi1> attributes {relax.function} {
  // CHECK-NEXT: "relax.less_equal"(%{{.*}}, %{{.*}}) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  %0 = "relax.less_equal"(%x, %y) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  return %0 : tensor<2xi1>
}

// CHECK-LABEL: func.func @cast(
func.func @cast(%x: tensor<2xf32>) -> tensor<2xi64> attributes {relax.function} {
  // CHECK-NEXT: "relax.astype"(%{{.*}}) {dtype = "int64"} : (tensor<2xf32>) -> tensor<2xi64>
  %0 = "relax.astype"(%x) {dtype = "int64"} : (tensor<2xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// CHECK-LABEL: func.func @nothing_known(
func.func @nothing_known(%x: tensor<*x!relax.any_dtype>, %y: tensor<*xf32>) -> tensor<*x!relax.any_dtype> attributes {relax.function} {
  // CHECK-NEXT: "relax.maximum"(%{{.*}}, %{{.*}}) : (tensor<*x!relax.any_dtype>, tensor<*xf32>) -> tensor<*x!relax.any_dtype>
  %0 = "relax.maximum"(%x, %y) : (tensor<*x!relax.any_dtype>, tensor<*xf32>) -> tensor<*x!relax.any_dtype>
  return %0 : tensor<*x!relax.any_dtype>
}

// A result may declare more than is known (checked when the module runs), or less.
// CHECK-LABEL: func.func @declared_more_and_less(
func.func @declared_more_and_less(%x: tensor<?x4xf32>) -> tensor<*xf32> attributes {relax.function} {
  // CHECK-NEXT: "relax.sin"(%{{.*}}) : (tensor<?x4xf32>) -> tensor<2x4xf32>
  %0 = "relax.sin"(%x) : (tensor<?x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: "relax.cos"(%{{.*}}) : (tensor<2x4xf32>) -> tensor<*xf32>
  %1 = "relax.cos"(%0) : (tensor<2x4xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

!n_f16 = tensor<?xf16, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_i1 = tensor<?xi1, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_3_i8 = tensor<?x3xi8, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!n_3_i1 = tensor<?x3xi1, #relax.dims<["n"], affine_map<()[s0] -> (s0, 3)>>>
!n_i32 = tensor<?xi32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_f32 = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
!n_c_h_f32 = tensor<?x?x?xf32, #relax.dims<["c", "h", "n"], affine_map<()[s0, s1, s2] -> (s2, s0, s1)>>>
!c_f32 = tensor<?xf32, #relax.dims<["c"], affine_map<()[s0] -> (s0)>>>
!n_1_f64 = tensor<?x1xf64, #relax.dims<["n"], affine_map<()[s0] -> (s0, 1)>>>
!n_5_f64 = tensor<?x5xf64, #relax.dims<["n"], affine_map<()[s0] -> (s0, 5)>>>
!n_1_i1 = tensor<?x1xi1, #relax.dims<["n"], affine_map<()[s0] -> (s0, 1)>>>
!m_i8 = tensor<?xi8, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>
!n_m_i8 = tensor<?x?xi8, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!n_m_f16 = tensor<?x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!m_f16 = tensor<?xf16, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>

// Whether something holds of an element is a bool.
// CHECK-LABEL: func.func @predicates(
func.func @predicates(%a0: !n_f16) -> !n_i1 attributes {relax.function} {
  // CHECK: "relax.isnan"{{.*}} -> tensor<?xi1, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.isnan"(%a0) : (!n_f16) -> !n_i1
  return %0 : !n_i1
}

// CHECK-LABEL: func.func @negation_of_any_dtype(
func.func @negation_of_any_dtype(%a0: !n_3_i8) -> !n_3_i1 attributes {relax.function} {
  // CHECK: "relax.logical_not"{{.*}} -> tensor<?x3xi1, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.logical_not"(%a0) : (!n_3_i8) -> !n_3_i1
  return %0 : !n_3_i1
}

// CHECK-LABEL: func.func @bits(
func.func @bits(%a0: tensor<3xui8>) -> tensor<3xui8> attributes {relax.function} {
  // CHECK: "relax.bitwise_not"{{.*}} -> tensor<3xui8>
  %0 = "relax.bitwise_not"(%a0) : (tensor<3xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// CHECK-LABEL: func.func @sign_of_integers(
func.func @sign_of_integers(%a0: tensor<3xi64>) -> tensor<3xi64> attributes {relax.function} {
  // CHECK: "relax.sign"{{.*}} -> tensor<3xi64>
  %0 = "relax.sign"(%a0) : (tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// Bounds are numbers of any kind, symbols too.
// CHECK-LABEL: func.func @bounds(
func.func @bounds(%a0: !n_i32) -> !n_i32 attributes {relax.function} {
  // CHECK: "relax.clip"{{.*}} -> tensor<?xi32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.clip"(%a0) {max = #relax.dims<["n"], affine_map<()[s0] -> (s0 * 2)>>, min = 0 : i64} : (!n_i32) -> !n_i32
  return %0 : !n_i32
}

// CHECK-LABEL: func.func @bounds_of_floats(
func.func @bounds_of_floats(%a0: tensor<*xf32>) -> tensor<*xf32> attributes {relax.function} {
  // CHECK: "relax.clip"{{.*}} -> tensor<*xf32>
  %0 = "relax.clip"(%a0) {max = 0x7FF0000000000000 : f64, min = -1.500000e+00 : f64} : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// CHECK-LABEL: func.func @slopes(
func.func @slopes(%a0: !n_f32) -> !n_f32 attributes {relax.function} {
  // CHECK: "relax.leakyrelu"{{.*}} -> tensor<?xf32, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.leakyrelu"(%a0) {alpha = 2.000000e-01 : f64} : (!n_f32) -> !n_f32
  return %0 : !n_f32
}

// CHECK-LABEL: func.func @channels(
func.func @channels(%a0: !n_c_h_f32, %a1: !c_f32) -> !n_c_h_f32 attributes {relax.function} {
  // CHECK: "relax.prelu"{{.*}} -> tensor<?x?x?xf32, #relax.dims<["c", "h", "n"], #{{.*}}>>
  %0 = "relax.prelu"(%a0, %a1) {axis = 1 : i64} : (!n_c_h_f32, !c_f32) -> !n_c_h_f32
  return %0 : !n_c_h_f32
}

// CHECK-LABEL: func.func @angles(
func.func @angles(%a0: !n_1_f64, %a1: tensor<5xf64>) -> !n_5_f64 attributes {relax.function} {
  // CHECK: "relax.atan2"{{.*}} -> tensor<?x5xf64, #relax.dims<["n"], #{{.*}}>>
  %0 = "relax.atan2"(%a0, %a1) : (!n_1_f64, tensor<5xf64>) -> !n_5_f64
  return %0 : !n_5_f64
}

// CHECK-LABEL: func.func @remainders(
func.func @remainders(%a0: tensor<3xi32>, %a1: tensor<3xi32>) -> tensor<3xi32> attributes {relax.function} {
  // CHECK: "relax.floor_mod"{{.*}} -> tensor<3xi32>
  %0 = "relax.floor_mod"(%a0, %a1) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// CHECK-LABEL: func.func @shifts(
func.func @shifts(%a0: tensor<3xui16>, %a1: tensor<ui16>) -> tensor<3xui16> attributes {relax.function} {
  // CHECK: "relax.left_shift"{{.*}} -> tensor<3xui16>
  %0 = "relax.left_shift"(%a0, %a1) : (tensor<3xui16>, tensor<ui16>) -> tensor<3xui16>
  return %0 : tensor<3xui16>
}

// CHECK-LABEL: func.func @exclusive_or(
func.func @exclusive_or(%a0: tensor<3xf32>, %a1: tensor<3xf32>) -> tensor<3xi1> attributes {relax.function} {
  // CHECK: "relax.logical_xor"{{.*}} -> tensor<3xi1>
  %0 = "relax.logical_xor"(%a0, %a1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// All three operands broadcast.
// CHECK-LABEL: func.func @choice(
func.func @choice(%a0: !n_1_i1, %a1: !m_i8, %a2: tensor<i8>) -> !n_m_i8 attributes {relax.function} {
  // CHECK: "relax.where"{{.*}} -> tensor<?x?xi8, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.where"(%a0, %a1, %a2) : (!n_1_i1, !m_i8, tensor<i8>) -> !n_m_i8
  return %0 : !n_m_i8
}

// Two symbols that differ may be equal at run time.
// CHECK-LABEL: func.func @choice_of_unknown_shape(
func.func @choice_of_unknown_shape(%a0: !n_i1, %a1: tensor<?x!relax.any_dtype, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>, %a2: tensor<i8>) -> tensor<?x!relax.any_dtype> attributes {relax.function} {
  // CHECK: "relax.where"{{.*}} -> tensor<?x!relax.any_dtype>
  %0 = "relax.where"(%a0, %a1, %a2) : (!n_i1, tensor<?x!relax.any_dtype, #relax.dims<["m"], affine_map<()[s0] -> (s0)>>>, tensor<i8>) -> tensor<?x!relax.any_dtype>
  return %0 : tensor<?x!relax.any_dtype>
}

// CHECK-LABEL: func.func @multiply_add(
func.func @multiply_add(%a0: !n_m_f16, %a1: !m_f16, %a2: tensor<1xf16>) -> !n_m_f16 attributes {relax.function} {
  // CHECK: "relax.ewise_fma"{{.*}} -> tensor<?x?xf16, #relax.dims<["m", "n"], #{{.*}}>>
  %0 = "relax.ewise_fma"(%a0, %a1, %a2) : (!n_m_f16, !m_f16, tensor<1xf16>) -> !n_m_f16
  return %0 : !n_m_f16
}
