// RUN: relax-opt %s --to-mixed-precision=dtype=int8 | FileCheck %s
// RUN: not relax-opt %s "--to-mixed-precision=dtype=int8 out-dtype=int8" 2>&1 | FileCheck %s --check-prefix=OUT

// OUT: out_dtype is one of float32, got

// A row of what is computed, and a column of the weight, have a scale; int32 is scaled by both.

// CHECK-LABEL: func.func @weight
// CHECK: %[[XABS:.*]] = "relax.abs"(%[[X:.*]]) :
// CHECK-NEXT: %[[XMAX:.*]] = "relax.max"(%[[XABS]]) {axis = array<i64: -1>, keepdims = true} : {{.*}} -> tensor<2x1xf32>
// CHECK: %[[XS:.*]] = "relax.maximum"
// CHECK-NEXT: %[[XD:.*]] = "relax.divide"(%[[X]], %[[XS]])
// CHECK-NEXT: %[[XR:.*]] = "relax.round"(%[[XD]])
// CHECK-NEXT: %[[XQ:.*]] = "relax.astype"(%[[XR]]) {dtype = "int8"}
// CHECK: "relax.max"{{.*}} {axis = array<i64: -2>, keepdims = true} : {{.*}} -> tensor<1x3xf32>
// CHECK: %[[WS:.*]] = "relax.maximum"
// CHECK: %[[WQ:.*]] = "relax.astype"{{.*}} : (tensor<4x3xf32>) -> tensor<4x3xi8>
// CHECK-NEXT: %[[P:.*]] = "relax.matmul"(%[[XQ]], %[[WQ]]) {out_dtype = "int32"}
// CHECK-NEXT: %[[F:.*]] = "relax.astype"(%[[P]]) {dtype = "float32"}
// CHECK-NEXT: %[[R:.*]] = "relax.multiply"(%[[F]], %[[XS]])
// CHECK-NEXT: %[[Y:.*]] = "relax.multiply"(%[[R]], %[[WS]])
// CHECK-NEXT: "relax.output"(%[[Y]])
func.func @weight(%x: tensor<2x4xf32>) -> tensor<2x3xf32> attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<4x3xf32>} : () -> tensor<4x3xf32>
    %a = "relax.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    "relax.output"(%a) : (tensor<2x3xf32>) -> ()
  }) : () -> tensor<2x3xf32>
  return %d : tensor<2x3xf32>
}

// Two computed matrices stay, as does a product of more terms than int32 can sum, and a depthwise
// convolution.

// CHECK-LABEL: func.func @left
// CHECK-NOT: "int8"
func.func @left(%x: tensor<2x4xf32>, %l: tensor<2x200000xf32>, %i: tensor<1x2x4x4xf32>)
    -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<1x2x4x4xf32>) attributes {relax.function} {
  %t = "relax.permute_dims"(%x) {axes = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %a = "relax.matmul"(%x, %t) : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %w = "relax.constant"() {value = dense<1.0> : tensor<200000x3xf32>} : () -> tensor<200000x3xf32>
  %b = "relax.matmul"(%l, %w) : (tensor<2x200000xf32>, tensor<200000x3xf32>) -> tensor<2x3xf32>
  %k = "relax.constant"() {value = dense<1.0> : tensor<2x1x1x1xf32>} : () -> tensor<2x1x1x1xf32>
  %c = "relax.conv2d"(%i, %k) {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %a, %b, %c : tensor<2x2xf32>, tensor<2x3xf32>, tensor<1x2x4x4xf32>
}

// A convolution has a scale for each image and for each output channel.

// CHECK-LABEL: func.func @image
// CHECK: "relax.max"{{.*}} {axis = array<i64: 1, 2, 3>, keepdims = true} : {{.*}} -> tensor<5x1x1x1xf32>
// CHECK: "relax.max"{{.*}} {axis = array<i64: 1, 2, 3>, keepdims = true} : {{.*}} -> tensor<6x1x1x1xf32>
// CHECK: "relax.conv2d"{{.*}}out_dtype = "int32"
// CHECK: "relax.reshape"{{.*}} -> tensor<1x6x1x1xf32>
func.func @image(%x: tensor<5x4x3x3xf32>) -> tensor<5x6x2x2xf32> attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<6x4x2x2xf32>} : () -> tensor<6x4x2x2xf32>
  %a = "relax.conv2d"(%x, %w) : (tensor<5x4x3x3xf32>, tensor<6x4x2x2xf32>) -> tensor<5x6x2x2xf32>
  return %a : tensor<5x6x2x2xf32>
}
