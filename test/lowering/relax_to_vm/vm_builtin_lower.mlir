// RUN: relax-opt %s --vm-builtin-lower | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: "relax.call_packed"({{.*}}) {func = "vm.builtin.reshape"}
func.func @main(%x: tensor<4xf32>, %s: !relax.shape<2 : i64>) -> tensor<?x?xf32> attributes {relax.function} {
  %y = "relax.reshape"(%x, %s) : (tensor<4xf32>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
