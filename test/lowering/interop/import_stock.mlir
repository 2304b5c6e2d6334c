// RUN: relax-opt %s -import-stock | FileCheck %s
// RUN: relax-opt %s -import-stock -export-stock -import-stock | FileCheck %s

// CHECK-LABEL: func.func @if(
// CHECK-SAME: %{{.*}}: tensor<i1>, %[[X:.*]]: tensor<3xf32>
func.func @if(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> attributes {relax.function} {
  // CHECK: "relax.yield"(%[[X]]) : (tensor<3xf32>) -> ()
  // CHECK: "relax.yield"(%[[X]]) : (tensor<3xf32>) -> ()
  // CHECK-NOT: smt.yield
  %0 = "relax.if"(%c) ({
    smt.yield %x : tensor<3xf32>
  }, {
    smt.yield %x : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
