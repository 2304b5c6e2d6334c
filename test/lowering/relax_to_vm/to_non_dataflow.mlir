// RUN: relax-opt %s --to-non-dataflow | FileCheck %s

// Bindings keep their order and come before what follows the block.
// CHECK-LABEL: func.func @one_output(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = "relax.exp"(%[[X]])
// CHECK-NEXT: %[[B:.*]] = "relax.log"(%[[A]])
// CHECK-NEXT: %[[C:.*]] = "relax.sin"(%[[B]])
// CHECK-NEXT: return %[[C]]
func.func @one_output(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "relax.log"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%b) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  %c = "relax.sin"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// Several values escape as one tuple.
// CHECK-LABEL: func.func @two_outputs(
// CHECK-NEXT: %[[A:.*]] = "relax.exp"
// CHECK-NEXT: %[[B:.*]] = "relax.log"(%[[A]])
// CHECK-NEXT: %[[T:.*]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK-NEXT: %[[F:.*]] = "relax.tuple_get_item"(%[[T]]) {index = 1 : i64}
// CHECK-NEXT: return %[[F]]
func.func @two_outputs(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "relax.log"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %t = builtin.unrealized_conversion_cast %a, %b : tensor<4xf32>, tensor<4xf32> to tuple<tensor<4xf32>, tensor<4xf32>>
    "relax.output"(%t) : (tuple<tensor<4xf32>, tensor<4xf32>>) -> ()
  }) : () -> tuple<tensor<4xf32>, tensor<4xf32>>
  %f = "relax.tuple_get_item"(%0) {index = 1 : i64} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %f : tensor<4xf32>
}

// CHECK-LABEL: func.func @no_output(
// CHECK-NEXT: "relax.match_cast"
// CHECK-NEXT: return
func.func @no_output(%x: tensor<*xf32>) -> tensor<*xf32> attributes {relax.function} {
  "relax.dataflow"() ({
    %a = "relax.match_cast"(%x) : (tensor<*xf32>) -> tensor<4xf32>
    "relax.output"() : () -> ()
  }) : () -> ()
  return %x : tensor<*xf32>
}

// The output may be a value from outside.
// CHECK-LABEL: func.func @parameter(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @parameter(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    "relax.output"(%x) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @in_branches(
// CHECK-NOT: relax.dataflow
// CHECK: "relax.if"(
// CHECK-NEXT: %[[A:.*]] = "relax.exp"
// CHECK-NEXT: "relax.yield"(%[[A]])
// CHECK-NEXT: }, {
// CHECK-NEXT: %[[B:.*]] = "relax.log"
// CHECK-NEXT: "relax.yield"(%[[B]])
func.func @in_branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.if"(%c) ({
    %1 = "relax.dataflow"() ({
      %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      "relax.output"(%a) : (tensor<4xf32>) -> ()
    }) : () -> tensor<4xf32>
    "relax.yield"(%1) : (tensor<4xf32>) -> ()
  }, {
    %1 = "relax.dataflow"() ({
      %b = "relax.log"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      "relax.output"(%b) : (tensor<4xf32>) -> ()
    }) : () -> tensor<4xf32>
    "relax.yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
