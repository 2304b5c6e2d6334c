// RUN: relax-opt %s --backward-fold-scale-axis | FileCheck %s

!X = tensor<1x2x5x5xf32>
!W = tensor<3x2x3x3xf32>
!Y = tensor<1x3x3x3xf32>
!S = tensor<3x1x1xf32>

// The scale of a result, through an addition whose other side is scaled too, and a ReLU.

// CHECK-LABEL: func.func @result
// CHECK: %[[S:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<3x1x1xf32>}
// CHECK: %[[S4:.*]] = "relax.reshape"(%[[S]], {{.*}} -> tensor<3x1x1x1xf32>
// CHECK: %[[W:.*]] = "relax.multiply"(%{{.*}}, %[[S4]]){{.*}} -> tensor<3x2x3x3xf32>
// CHECK: %[[C:.*]] = "relax.conv2d"(%{{.*}}, %[[W]])
// CHECK: %[[B:.*]] = "relax.multiply"(%{{.*}}, %{{.*}}) : (tensor<3x1x1xf32>, tensor<3x1x1xf32>)
// CHECK: %[[A:.*]] = "relax.add"(%[[C]], %[[B]])
// CHECK: %[[R:.*]] = "relax.relu"(%[[A]])
// CHECK-NEXT: return %[[R]]
func.func @result(%x: !X, %w: !W, %b: !S) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %a = "relax.add"(%c, %b) : (!Y, !S) -> !Y
  %r = "relax.relu"(%a) : (!Y) -> !Y
  %s = "relax.constant"() {value = dense<[[[1.0]], [[2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%r, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// What must stay: a negative scale after a ReLU, a result with another use, a scale that differs along
// the width, a scale that an impure call may have changed since.

// CHECK-LABEL: func.func @negative
// CHECK: "relax.relu"
// CHECK: "relax.multiply"
func.func @negative(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %r = "relax.relu"(%c) : (!Y) -> !Y
  %s = "relax.constant"() {value = dense<[[[1.0]], [[-2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%r, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// CHECK-LABEL: func.func @used_twice
// CHECK: "relax.conv2d"
// CHECK: "relax.multiply"
func.func @used_twice(%x: !X, %w: !W, %s: !S) -> tuple<!Y, !Y> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
  %t = builtin.unrealized_conversion_cast %c, %m : !Y, !Y to tuple<!Y, !Y>
  return %t : tuple<!Y, !Y>
}

// CHECK-LABEL: func.func @by_width
// CHECK: "relax.conv2d"
// CHECK: "relax.multiply"
func.func @by_width(%x: !X, %w: !W, %s: tensor<3xf32>) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %m = "relax.multiply"(%c, %s) : (!Y, tensor<3xf32>) -> !Y
  return %m : !Y
}

// CHECK-LABEL: func.func @impure
// CHECK: "relax.conv2d"
// CHECK: "relax.call_packed"
// CHECK: "relax.multiply"
func.func @impure(%x: !X, %w: !W, %s: !S) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %t = builtin.unrealized_conversion_cast %s : !S to tuple<!S>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!S>) -> !relax.object
  %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
  return %m : !Y
}

// A scale that is computed after the convolution is computed before it.

// CHECK-LABEL: func.func @later
// CHECK: %[[R:.*]] = "relax.rsqrt"
// CHECK: "relax.conv2d"
// CHECK-NOT: "relax.rsqrt"
// CHECK: return
func.func @later(%x: !X, %w: !W, %v: !S) -> !Y attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
    %s = "relax.rsqrt"(%v) : (!S) -> !S
    %m = "relax.multiply"(%c, %s) : (!Y, !S) -> !Y
    "relax.output"(%m) : (!Y) -> ()
  }) : () -> !Y
  return %d : !Y
}

// Not past pooling that slides over the channels or moves them; one number for all goes past either.

!P = tensor<1x3x3x3xf32>
!One = tensor<1x1x1xf32>

// CHECK-LABEL: func.func @pools_channels
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK: %[[P:.*]] = "relax.avg_pool2d"(%[[C]])
// CHECK: %[[M:.*]] = "relax.multiply"(%[[P]]
// CHECK-NEXT: return %[[M]]
func.func @pools_channels(%x: !X, %w: !W, %s: !S) -> !P attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %p = "relax.avg_pool2d"(%c) {pool_size = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 0>, layout = "NHWC"} : (!Y) -> !P
  %m = "relax.multiply"(%p, %s) : (!P, !S) -> !P
  return %m : !P
}

// CHECK-LABEL: func.func @moves_channels
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK: %[[P:.*]] = "relax.max_pool2d"(%[[C]])
// CHECK: %[[M:.*]] = "relax.multiply"(%[[P]]
// CHECK-NEXT: return %[[M]]
func.func @moves_channels(%x: !X, %w: !W) -> !P attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %p = "relax.max_pool2d"(%c) {pool_size = array<i64: 1>, layout = "NCHW", out_layout = "NHWC"} : (!Y) -> !P
  %s = "relax.constant"() {value = dense<[[[1.0]], [[2.0]], [[3.0]]]> : !S} : () -> !S
  %m = "relax.multiply"(%p, %s) : (!P, !S) -> !P
  return %m : !P
}

// CHECK-LABEL: func.func @one_number
// CHECK: %[[P:.*]] = "relax.avg_pool2d"
// CHECK-NEXT: return %[[P]]
func.func @one_number(%x: !X, %w: !W, %s: !One) -> !P attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %p = "relax.avg_pool2d"(%c) {pool_size = array<i64: 1>, layout = "NCHW", out_layout = "NHWC"} : (!Y) -> !P
  %m = "relax.multiply"(%p, %s) : (!P, !One) -> !P
  return %m : !P
}

// What the scale is made from names a symbol that is bound behind the convolution.

!K = tensor<?xf32, #relax.dims<["k"], affine_map<()[s0] -> (s0)>>>
!KS = !relax.shape<#relax.dims<["k"], affine_map<()[s0] -> (s0)>>>

// CHECK-LABEL: func.func @symbol_bound_later
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK-NEXT: relax.match_cast
// CHECK-NEXT: relax.shape_expr
// CHECK: %[[M:.*]] = "relax.multiply"(%[[C]]
// CHECK-NEXT: return %[[M]]
func.func @symbol_bound_later(%x: !X, %w: !W, %z: tensor<*xf32>) -> !Y attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
  %k = "relax.match_cast"(%z) : (tensor<*xf32>) -> !K
  %shape = "relax.shape_expr"() : () -> !KS
  %ones = "relax.ones"(%shape) {dtype = "float32"} : (!KS) -> !K
  %s = "relax.sum"(%ones) {axis, keepdims = false} : (!K) -> tensor<f32>
  %m = "relax.multiply"(%c, %s) : (!Y, tensor<f32>) -> !Y
  return %m : !Y
}

// What is scaled after a loop is the result of its last turn, or what it began with.

// CHECK-LABEL: func.func @in_a_loop
// CHECK: relax.for
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK-NOT: relax.multiply
// CHECK: relax.yield
// CHECK: %[[M:.*]] = "relax.multiply"
// CHECK-NEXT: return %[[M]]
func.func @in_a_loop(%x: !X, %y: !Y, %w: !W, %s: !S, %bounds: tuple<i64, i64, i64>) -> !Y
    attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %y : !Y to tuple<!Y>
  %l = "relax.for"(%bounds, %t) ({
  ^bb0(%i: i64, %d: !Y):
    %c = "relax.conv2d"(%x, %w) : (!X, !W) -> !Y
    %n = builtin.unrealized_conversion_cast %c : !Y to tuple<!Y>
    "relax.yield"(%n) : (tuple<!Y>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<!Y>) -> tuple<!Y>
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (tuple<!Y>) -> !Y
  %m = "relax.multiply"(%g, %s) : (!Y, !S) -> !Y
  return %m : !Y
}
