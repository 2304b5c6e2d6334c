// RUN: relax-opt %s --backward-fold-scale-axis --split-input-file | FileCheck %s --check-prefix=BACK
// RUN: relax-opt %s --forward-fold-scale-axis --split-input-file | FileCheck %s --check-prefix=FORWARD
// RUN: relax-opt %s --pass-pipeline='builtin.module(fold-scale-axis,fold-constant)' --split-input-file | FileCheck %s

!X = tensor<1x2x5x5xf32>
!W = tensor<3x2x3x3xf32>
!Y = tensor<1x3x3x3xf32>
!S = tensor<3x1x1xf32>

// The scale of a result, through an addition whose other side is scaled too, and a ReLU.

// BACK-LABEL: func.func @result
// BACK: %[[S:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<3x1x1xf32>}
// BACK: %[[S4:.*]] = "relax.reshape"(%[[S]], {{.*}} -> tensor<3x1x1x1xf32>
// BACK: %[[W:.*]] = "relax.multiply"(%{{.*}}, %[[S4]]){{.*}} -> tensor<3x2x3x3xf32>
// BACK: %[[C:.*]] = "relax.conv2d"(%{{.*}}, %[[W]])
// BACK: %[[B:.*]] = "relax.multiply"(%{{.*}}, %{{.*}}) : (tensor<3x1x1xf32>, tensor<3x1x1xf32>)
// BACK: %[[A:.*]] = "relax.add"(%[[C]], %[[B]])
// BACK: %[[R:.*]] = "relax.relu"(%[[A]])
// BACK-NEXT: return %[[R]]
// FORWARD-LABEL: func.func @result
// FORWARD: "relax.relu"
// FORWARD: "relax.multiply"
func.func @result(%x: !X, %w: !W, %b: !S) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %a = "relax.add"(%c, %b) : (!Y, !S) -> !Y
  %r = "relax.relu"(%a) : (!Y) -> !Y
  %s = "relax.constant"() {value = dense<[[[1.0]], [[2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%r, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// The scale of an input.

// FORWARD-LABEL: func.func @input
// FORWARD: %[[S4:.*]] = "relax.reshape"({{.*}} -> tensor<1x2x1x1xf32>
// FORWARD: %[[W:.*]] = "relax.multiply"(%{{.*}}, %[[S4]]){{.*}} -> tensor<3x2x3x3xf32>
// FORWARD: "relax.conv2d"(%{{.*}}, %[[W]])
func.func @input(%x: !X, %w: !W, %s: tensor<1x2x1x1xf32>) -> !Y attributes {relax.function} {
  %m = "relax.multiply"(%x, %s) : (!X, tensor<1x2x1x1xf32>) -> !X
  %c = "relax.conv2d"(%m, %w) : (!X, !W) -> !Y
  return %c : !Y
}

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

// -----

!X = tensor<1x2x5x5xf32>
!W = tensor<3x2x3x3xf32>
!Y = tensor<1x3x3x3xf32>
!S = tensor<3x1x1xf32>

// What must stay: a negative scale after a ReLU, a result with another use, a scale that differs along
// the width, a scale that an impure call may have changed since.

// BACK-LABEL: func.func @negative
// BACK: "relax.relu"
// BACK: "relax.multiply"
func.func @negative(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %r = "relax.relu"(%c) : (!Y) -> !Y
  %s = "relax.constant"() {value = dense<[[[1.0]], [[-2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%r, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// BACK-LABEL: func.func @used_twice
// BACK: "relax.conv2d"
// BACK: "relax.multiply"
func.func @used_twice(%x: !X, %w: !W, %s: !S) -> tuple<!Y, !Y> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
  %t = builtin.unrealized_conversion_cast %c, %m : !Y, !Y to tuple<!Y, !Y>
  return %t : tuple<!Y, !Y>
}

// BACK-LABEL: func.func @by_width
// BACK: "relax.conv2d"
// BACK: "relax.multiply"
func.func @by_width(%x: !X, %w: !W, %s: tensor<3xf32>) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %m = "relax.multiply"(%c, %s) : (!Y, tensor<3xf32>) -> !Y
  return %m : !Y
}

// BACK-LABEL: func.func @impure
// BACK: "relax.conv2d"
// BACK: "relax.call_packed"
// BACK: "relax.multiply"
func.func @impure(%x: !X, %w: !W, %s: !S) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %t = builtin.unrealized_conversion_cast %s : !S to tuple<!S>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!S>) -> !relax.object
  %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// A scale that is computed after the convolution is computed before it.

// BACK-LABEL: func.func @later
// BACK: %[[R:.*]] = "relax.rsqrt"
// BACK: "relax.conv2d"
// BACK-NOT: "relax.rsqrt"
// BACK: return
func.func @later(%x: !X, %w: !W, %v: !S) -> !Y attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
    %s = "relax.rsqrt"(%v) : (!S) -> !S
    %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
    "relax.output"(%m) : (!Y) -> ()
  }) : () -> !Y
  return %d : !Y
}
