// RUN: relax-opt %s --to-mixed-precision | FileCheck %s
// RUN: relax-opt %s --to-mixed-precision=out-dtype=float16 | FileCheck %s --check-prefix=HALF
// RUN: relax-opt %s --to-mixed-precision=dtype=bfloat16 | FileCheck %s --check-prefix=BF16

!X = tensor<2x4xf32>
!W = tensor<4x4xf32>

// A parameter that only products read is stored in half precision; what they give is, too.

// CHECK-LABEL: func.func @products
// CHECK: %[[X:.*]] = "relax.astype"(%{{.*}}) {dtype = "float16"} : (tensor<2x4xf32>) -> tensor<2x4xf16>
// CHECK-NEXT: %[[W:.*]] = "relax.astype"(%{{.*}}) {dtype = "float16"} : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK-NEXT: %[[A:.*]] = "relax.matmul"(%[[X]], %[[W]]) {out_dtype = "float32"} : {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: %[[H:.*]] = "relax.astype"(%[[A]]) {dtype = "float16"}
// CHECK-NEXT: %[[R:.*]] = "relax.relu"(%[[H]]) : (tensor<2x4xf16>) -> tensor<2x4xf16>
// CHECK-NEXT: %[[B:.*]] = "relax.matmul"(%[[R]], %[[W]]) {out_dtype = "float32"}
// CHECK-NEXT: "relax.output"(%[[B]]) : (tensor<2x4xf32>)
// HALF-LABEL: func.func @products
// HALF: %[[A:.*]] = "relax.matmul"{{.*}} {out_dtype = "float16"} : {{.*}} -> tensor<2x4xf16>
// HALF-NEXT: "relax.relu"(%[[A]])
// HALF-NEXT: %[[B:.*]] = "relax.matmul"
// HALF-NEXT: %[[C:.*]] = "relax.astype"(%[[B]]) {dtype = "float32"}
// HALF-NEXT: "relax.output"(%[[C]])
// BF16-LABEL: func.func @products
// BF16: "relax.matmul"{{.*}} {out_dtype = "float32"} : (tensor<2x4xbf16>, tensor<4x4xbf16>)
func.func @products(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (!X, !W) -> !X
    %r = "relax.relu"(%a) : (!X) -> !X
    %b = "relax.matmul"(%r, %w) : (!X, !W) -> !X
    "relax.output"(%b) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}

// An addition of something in float32 is in float32, and so are a softmax and a sum.

// CHECK-LABEL: func.func @others
// CHECK: %[[H:.*]] = "relax.astype"(%{{.*}}) {dtype = "float16"} : (tensor<2x4xf32>)
// CHECK: %[[M:.*]] = "relax.matmul"(%[[H]]
// CHECK-NEXT: %[[N:.*]] = "relax.astype"(%[[M]]) {dtype = "float16"}
// CHECK-NEXT: %[[F:.*]] = "relax.astype"(%[[N]]) {dtype = "float32"}
// CHECK-NEXT: %[[S:.*]] = "relax.add"(%[[F]], %{{.*}}) : (tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: "relax.softmax"(%[[S]]){{.*}} : (tensor<2x4xf32>)
func.func @others(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (!X, !W) -> !X
    %b = "relax.add"(%a, %x) : (!X, !X) -> !X
    %c = "relax.softmax"(%b) {axis = 1 : i64} : (!X) -> !X
    "relax.output"(%c) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}

// A constant in the range of half precision counts as being in it, one out of it does not.

// CHECK-LABEL: func.func @constants
// CHECK: "relax.add"({{.*}}) : (tensor<2x4xf16>, tensor<f16>) -> tensor<2x4xf16>
// CHECK: "relax.multiply"({{.*}}) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// BF16-LABEL: func.func @constants
// BF16: "relax.multiply"({{.*}}) : (tensor<2x4xbf16>, tensor<bf16>)
func.func @constants(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %one = "relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %large = "relax.constant"() {value = dense<70000.0> : tensor<f32>} : () -> tensor<f32>
  %d = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (!X, !W) -> !X
    %b = "relax.add"(%a, %one) : (!X, tensor<f32>) -> !X
    %c = "relax.multiply"(%b, %large) : (!X, tensor<f32>) -> !X
    "relax.output"(%c) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}

// Products of other dtypes, and those outside of dataflow blocks, stay.

// CHECK-LABEL: func.func @stay
// CHECK-NOT: astype
// CHECK: return
func.func @stay(%x: !X, %w: !W, %i: tensor<2x2xi8>) -> tuple<!X, tensor<2x2xi32>> attributes {relax.function} {
  %a = "relax.matmul"(%x, %w) : (!X, !W) -> !X
  %d = "relax.dataflow"() ({
    %b = "relax.matmul"(%i, %i) {out_dtype = "int32"} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
    "relax.output"(%b) : (tensor<2x2xi32>) -> ()
  }) : () -> tensor<2x2xi32>
  %t = builtin.unrealized_conversion_cast %a, %d : !X, tensor<2x2xi32> to tuple<!X, tensor<2x2xi32>>
  return %t : tuple<!X, tensor<2x2xi32>>
}

// Fields of tuples are stored one by one.

// CHECK-LABEL: func.func @tuples
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : tensor<2x4xf16>, tensor<2x4xf32> to tuple<tensor<2x4xf16>, tensor<2x4xf32>>
// CHECK: "relax.tuple_get_item"({{.*}}) {index = 0 : i64} : (tuple<tensor<2x4xf16>, tensor<2x4xf32>>) -> tensor<2x4xf16>
func.func @tuples(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (!X, !W) -> !X
    %s = "relax.softmax"(%x) {axis = 1 : i64} : (!X) -> !X
    %t = builtin.unrealized_conversion_cast %a, %s : !X, !X to tuple<!X, !X>
    %f = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!X, !X>) -> !X
    %b = "relax.matmul"(%f, %w) : (!X, !W) -> !X
    "relax.output"(%b) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}
