// RUN: relax-opt %s -export-stock | FileCheck %s

// CHECK-LABEL: func.func @dataflow(
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>
func.func @dataflow(%x: tensor<3xf32>) -> tensor<3xf32> attributes {relax.function} {
  // CHECK: "relax.dataflow"() ({
  // CHECK-NEXT: smt.yield %[[X]] : tensor<3xf32>
  %0 = "relax.dataflow"() ({
    "relax.output"(%x) : (tensor<3xf32>) -> ()
  }) : () -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @nested(
func.func @nested(%n: index) attributes {tir.prim_func} {
  // CHECK: "tir.for"
  // CHECK: "tir.for"
  // CHECK: smt.yield
  // CHECK: smt.yield
  // CHECK-NOT: tir.yield
  "tir.for"(%n, %n) ({
  ^bb0(%i: index):
    "tir.for"(%i, %n) ({
    ^bb0(%j: index):
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
