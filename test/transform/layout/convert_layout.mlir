// RUN: relax-opt %s --pass-pipeline='builtin.module(convert-layout{desired-layouts=conv2d=NHWC,HWIO})' | FileCheck %s

!X = tensor<1x8x8x8xf32>
!W = tensor<8x8x3x3xf32>
!B = tensor<8x1x1xf32>

// Transposes are left where the chain begins and ends, and for the weights.

// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x8x8xf32>, %[[W:.*]]: tensor<8x8x3x3xf32>
// CHECK: %[[T:.*]] = "relax.permute_dims"(%[[X]]) {axes = array<i64: 0, 2, 3, 1>}
// CHECK: %[[V:.*]] = "relax.permute_dims"(%[[W]]) {axes = array<i64: 2, 3, 1, 0>}
// CHECK: %[[C:.*]] = "relax.conv2d"(%[[T]], %[[V]]) {data_layout = "NHWC", {{.*}}kernel_layout = "HWIO"
// CHECK: %[[B:.*]] = "relax.permute_dims"({{.*}}) {axes = array<i64: 0, 2, 3, 1>}{{.*}} -> tensor<1x1x1x8xf32>
// CHECK: %[[A:.*]] = "relax.add"(%[[C]], %[[B]])
// CHECK: %[[R:.*]] = "relax.relu"(%[[A]])
// CHECK: %[[P:.*]] = "relax.max_pool2d"(%[[R]]) {{.*}}layout = "NHWC"
// CHECK: %[[W2:.*]] = "relax.permute_dims"(%[[W]])
// CHECK: %[[C2:.*]] = "relax.conv2d"(%[[P]], %[[W2]])
// CHECK: %[[S:.*]] = "relax.add"(%[[C2]], %[[P]])
// CHECK: %[[Y:.*]] = "relax.permute_dims"(%[[S]]) {axes = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[Y]]
func.func @chain(%x: !X, %w: !W, %b: !B) -> tensor<1x8x8x8xf32> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %a = "relax.add"(%c, %b) : (!X, !B) -> !X
  %r = "relax.relu"(%a) : (!X) -> !X
  %p = "relax.max_pool2d"(%r) {pool_size = array<i64: 3>, padding = array<i64: 1>} : (!X) -> !X
  %d = "relax.conv2d"(%p, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %s = "relax.add"(%d, %p) : (!X, !X) -> !X
  return %s : !X
}

// Reductions follow, and a transpose of the program that undoes the pass's own.

// CHECK-LABEL: func.func @ends
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK: %[[M:.*]] = "relax.mean"(%[[C]]) {axis = array<i64: 1, 2>, keepdims = false} : {{.*}} -> tensor<1x8xf32>
// CHECK-NOT: "relax.permute_dims"
// CHECK: builtin.unrealized_conversion_cast %[[M]], %[[C]]
func.func @ends(%x: !X, %w: !W) -> tuple<tensor<1x8xf32>, !X> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %m = "relax.mean"(%c) {axis = array<i64: 2, 3>, keepdims = false} : (!X) -> tensor<1x8xf32>
  %t = "relax.permute_dims"(%c) {axes = array<i64: 0, 2, 3, 1>} : (!X) -> !X
  %r = builtin.unrealized_conversion_cast %m, %t : tensor<1x8xf32>, !X to tuple<tensor<1x8xf32>, !X>
  return %r : tuple<tensor<1x8xf32>, !X>
}

// A result that is written to in place has one memory: whoever reads it later reads that.

// CHECK-LABEL: func.func @impure
// CHECK: %[[C:.*]] = "relax.conv2d"(%{{.*}}, %{{.*}}) {padding
// CHECK: "relax.call_packed"
// CHECK: "relax.relu"(%[[C]])
func.func @impure(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %t = builtin.unrealized_conversion_cast %c : !X to tuple<!X>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!X>) -> !relax.object
  %r = "relax.relu"(%c) : (!X) -> !X
  return %r : !X
}

// Two results stay two tensors.

// CHECK-LABEL: func.func @both_returned
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK: %[[P:.*]] = "relax.permute_dims"(%[[C]])
// CHECK: %[[T:.*]] = "relax.permute_dims"(%[[P]])
// CHECK: builtin.unrealized_conversion_cast %[[C]], %[[T]]
func.func @both_returned(%x: !X, %w: !W) -> tuple<!X, !X> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %s = "relax.permute_dims"(%c) {axes = array<i64: 0, 2, 3, 1>} : (!X) -> !X
  %t = "relax.permute_dims"(%c) {axes = array<i64: 0, 2, 3, 1>} : (!X) -> !X
  %r = builtin.unrealized_conversion_cast %s, %t : !X, !X to tuple<!X, !X>
  return %r : tuple<!X, !X>
}

// In a loop what is carried keeps its layout.

// CHECK-LABEL: func.func @in_a_loop
// CHECK: ^bb0(%{{.*}}: i64, %[[D:.*]]: tensor<1x8x8x8xf32>):
// CHECK: "relax.permute_dims"(%[[D]])
// CHECK: "relax.conv2d"
// CHECK: %[[R:.*]] = "relax.relu"
// CHECK: %[[B:.*]] = "relax.permute_dims"(%[[R]])
// CHECK: %[[N:.*]] = builtin.unrealized_conversion_cast %[[B]]
// CHECK-NEXT: "relax.yield"(%[[N]])
// CHECK: return
func.func @in_a_loop(%x: !X, %w: !W, %bounds: tuple<i64, i64, i64>) -> !X
    attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %l = "relax.for"(%bounds, %t) ({
  ^bb0(%i: i64, %d: !X):
    %c = "relax.conv2d"(%d, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
    %r = "relax.relu"(%c) : (!X) -> !X
    %n = builtin.unrealized_conversion_cast %r : !X to tuple<!X>
    "relax.yield"(%n) : (tuple<!X>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<!X>) -> tuple<!X>
  %g = "relax.tuple_get_item"(%l) {index = 0 : i64} : (tuple<!X>) -> !X
  return %g : !X
}
