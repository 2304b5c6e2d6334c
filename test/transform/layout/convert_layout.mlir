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

// Operations with axes follow: they name the axes as the image then has them.

// CHECK-LABEL: func.func @axes
// CHECK: %[[C:.*]] = "relax.conv2d"
// CHECK: %[[S:.*]] = "relax.strided_slice"(%[[C]]) {{.*}}axes = array<i64: 3, 1>
// CHECK: %[[F:.*]] = "relax.flip"(%[[S]]) {axis = 1 : i64}
// CHECK: %[[T:.*]] = "relax.tile"(%[[F]]) {repeats = array<i64: 1, 1, 2, 1>}
// CHECK: %[[J:.*]] = "relax.concat"({{.*}}) {axis = 3 : i64}
// CHECK: %[[P:.*]] = "relax.split"(%[[J]]) {axis = 3 : i64
// CHECK: %[[E:.*]] = "relax.expand_dims"(%{{.*}}) {axis = array<i64: 1>} : (tensor<1x4x16x4xf32>) -> tensor<1x1x4x16x4xf32>
// CHECK: %[[Y:.*]] = "relax.permute_dims"(%[[E]]) {axes = array<i64: 0, 1, 4, 2, 3>}
// CHECK: "relax.output"(%[[Y]])
func.func @axes(%x: !X, %w: !W) -> tensor<1x1x4x4x16xf32> attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
    %s = "relax.strided_slice"(%c) {axes = array<i64: 1, 2>, begin = array<i64: 0, 0>, end = array<i64: 4, 4>} : (!X) -> tensor<1x4x4x8xf32>
    %f = "relax.flip"(%s) {axis = 2 : i64} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
    %t = "relax.tile"(%f) {repeats = array<i64: 2>} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x16xf32>
    %a = builtin.unrealized_conversion_cast %t, %t : tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32> to tuple<tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>>
    %j = "relax.concat"(%a) {axis = 1 : i64} : (tuple<tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>>) -> tensor<1x8x4x16xf32>
    %p = "relax.split"(%j) {indices_or_sections = 2 : i64, axis = 1 : i64} : (tensor<1x8x4x16xf32>) -> tuple<tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>>
    %i = "relax.tuple_get_item"(%p) {index = 1 : i64} : (tuple<tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>>) -> tensor<1x4x4x16xf32>
    %e = "relax.expand_dims"(%i) {axis = array<i64: 1>} : (tensor<1x4x4x16xf32>) -> tensor<1x1x4x4x16xf32>
    "relax.output"(%e) : (tensor<1x1x4x4x16xf32>) -> ()
  }) : () -> tensor<1x1x4x4x16xf32>
  return %d : tensor<1x1x4x4x16xf32>
}

// A repetition of the elements in their order needs that order.

// CHECK-LABEL: func.func @flat
// CHECK: %[[B:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 3, 1, 2>}
// CHECK: "relax.repeat"(%[[B]])
func.func @flat(%x: !X, %w: !W) -> tensor<1024xf32> attributes {relax.function} {
  %c = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %r = "relax.repeat"(%c) {repeats = 2 : i64} : (!X) -> tensor<1024xf32>
  return %r : tensor<1024xf32>
}
