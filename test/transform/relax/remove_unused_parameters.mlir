// RUN: relax-opt %s --remove-unused-parameters | FileCheck %s

!T = tensor<4xf32>

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[X]] : tensor<4xf32> to tuple<tensor<4xf32>>
// CHECK: "relax.call"(%[[T]])
func.func @main(%x: !T, %y: !T) -> !T attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x, %y : !T, !T to tuple<!T, !T>
  %r = "relax.call"(%t) {callee = @inner, pure} : (tuple<!T, !T>) -> !T
  return %r : !T
}

// CHECK-LABEL: func.func private @inner
// CHECK-SAME: (%{{[^,]*}}: tensor<4xf32>) ->
func.func private @inner(%x: !T, %y: !T) -> !T attributes {relax.function} {
  %r = "relax.exp"(%x) : (!T) -> !T
  return %r : !T
}
