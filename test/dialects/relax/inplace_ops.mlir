// RUN: relax-opt %s | relax-opt | FileCheck %s

!F = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>

// CHECK-LABEL: func.func @calls
func.func @calls(%x: !F, %s: !S) -> !F attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  // CHECK: "relax.call_tir_inplace"(%{{.*}}, %{{.*}}) {callee = @f, inplace_indices = array<i64: 0>}
  %0 = "relax.call_tir_inplace"(%s, %t) {callee = @f, inplace_indices = array<i64: 0>} : (!S, tuple<!F>) -> !F
  %ss = builtin.unrealized_conversion_cast %s, %s : !S, !S to tuple<!S, !S>
  // CHECK: "relax.call_dps_packed_inplace"(%{{.*}}, %{{.*}}) {func = "g", inplace_indices = array<i64: -1, 0>}
  %1 = "relax.call_dps_packed_inplace"(%ss, %t) {func = "g", inplace_indices = array<i64: -1, 0>} : (tuple<!S, !S>, tuple<!F>) -> tuple<!F, !F>
  // CHECK: "relax.call_inplace_packed"(%{{.*}}) {func = "h", inplace_indices = array<i64: 0>}
  %2 = "relax.call_inplace_packed"(%t) {func = "h", inplace_indices = array<i64: 0>} : (tuple<!F>) -> !F
  return %2 : !F
}
