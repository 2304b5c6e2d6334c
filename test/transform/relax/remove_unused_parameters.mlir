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

!M = tensor<?xf32, #relax.dims<["m"], affine_map<()[m] -> (m)>>>
!N = !relax.shape<#relax.dims<["n"], affine_map<()[n] -> (n)>>>
!S = !relax.shape<#relax.dims<["m"], affine_map<()[m] -> (m)>>>

// Sizes that a tensor has too are not passed; `n` is known from a parameter alone.
// CHECK-LABEL: func.func @sizes
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %{{.*}} : tensor<?xf32, #{{.*}}>, i64 to
func.func @sizes(%x: !M, %n: i64, %s: !S) -> !M attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x, %s, %n, %n : !M, !S, i64, i64 to tuple<!M, !S, i64, i64>
  %r = "relax.call"(%t) {callee = @sized, pure} : (tuple<!M, !S, i64, i64>) -> !M
  return %r : !M
}

// CHECK-LABEL: func.func private @sized
// CHECK-SAME: (%{{[a-z0-9]*}}: tensor<?xf32, #relax.dims<["m"], #{{[a-z0-9]*}}>>, %{{[a-z0-9]*}}: i64 {relax.value = {{.*}}}) ->
func.func private @sized(%x: !M, %s: !S, %k: i64, %n: i64 {relax.value = #relax.dims<["n"], affine_map<()[n] -> (n)>>}) -> !M
    attributes {relax.function} {
  %shape = "relax.shape_expr"() : () -> !N
  %r = "relax.exp"(%x) : (!M) -> !M
  %t = builtin.unrealized_conversion_cast %shape : !N to tuple<!N>
  %u = "relax.call_packed"(%t) {func = "use"} : (tuple<!N>) -> !relax.object
  return %r : !M
}
