// RUN: relax-opt %s --fast-math-transform | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: "relax.call_tir"{{.*}} {callee = @softmax}
// CHECK: "relax.call_tir"{{.*}} {callee = @exp}
// CHECK: "relax.call_tir"{{.*}} {callee = @erf}
// CHECK: "relax.call_tir"{{.*}} {callee = @tanh}
// CHECK: "relax.sin"
// CHECK: func.func private @softmax(
func.func @main(%x: tensor<2x16xf32>) -> tensor<2x16xf32> attributes {relax.function} {
  %a = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %b = "relax.exp"(%a) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %c = "relax.erf"(%b) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %d = "relax.tanh"(%c) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %e = "relax.sin"(%d) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  return %e : tensor<2x16xf32>
}
