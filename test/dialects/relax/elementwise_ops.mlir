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
