// RUN: relax-opt %s --pass-pipeline='builtin.module(fold-scale-axis,fold-constant)' | FileCheck %s
// RUN: relax-opt %s --fold-scale-axis --fold-constant | FileCheck %s

!X = tensor<1x2x5x5xf32>
!W = tensor<3x2x3x3xf32>
!Y = tensor<1x3x3x3xf32>
!S = tensor<3x1x1xf32>

// Both directions, of weights that are known: nothing is left of the scales.

// CHECK-LABEL: func.func @both
// CHECK-NEXT: %[[W:.*]] = "relax.constant"()
// CHECK-NEXT: %[[C:.*]] = "relax.conv2d"(%{{.*}}, %[[W]])
// CHECK-NEXT: return %[[C]]
func.func @both(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : !W} : () -> !W
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %s = "relax.constant"() {value = dense<[[[1.0]], [[2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%x, %two) : (!X, tensor<f32>) -> !X
  %c = "relax.conv2d"(%m, %w) : (!X, !W) -> !Y
  %n = "relax.multiply"(%s, %c) : (!S, !Y) -> !Y
  return %n : !Y
}
