// RUN: relax-opt %s -split-input-file -verify-diagnostics

!F = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
func.func @no_such_argument(%x: !F, %s: !S) {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  // expected-error@+1 {{'relax.call_tir_inplace' op cannot overwrite argument 1, there are 1}}
  %0 = "relax.call_tir_inplace"(%s, %t) {callee = @f, inplace_indices = array<i64: 1>} : (!S, tuple<!F>) -> !F
  return
}

// -----

!F = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
func.func @nothing(%x: !F, %s: !S) {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  // expected-error@+1 {{'relax.call_dps_packed_inplace' op overwrites no argument; use the call without 'inplace'}}
  %0 = "relax.call_dps_packed_inplace"(%s, %t) {func = "f", inplace_indices = array<i64: -1>} : (!S, tuple<!F>) -> !F
  return
}

// -----

!F = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
func.func @twice(%x: !F, %s: !S) {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  %ss = builtin.unrealized_conversion_cast %s, %s : !S, !S to tuple<!S, !S>
  // expected-error@+1 {{'relax.call_tir_inplace' op overwrites argument 0 with several outputs}}
  %0 = "relax.call_tir_inplace"(%ss, %t) {callee = @f, inplace_indices = array<i64: 0, 0>} : (tuple<!S, !S>, tuple<!F>) -> tuple<!F, !F>
  return
}

// -----

!F = tensor<5xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
func.func @another_shape(%x: !F, %s: !S) {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  // expected-error@+1 {{'relax.call_tir_inplace' op cannot overwrite argument 0, R.Tensor((5,), "float32"), with R.Tensor((4,), "float32")}}
  %0 = "relax.call_tir_inplace"(%s, %t) {callee = @f, inplace_indices = array<i64: 0>} : (!S, tuple<!F>) -> tensor<4xf32>
  return
}

// -----

!F = tensor<4xf32>
func.func @no_tensor(%x: !F, %s: !relax.object) {
  %t = builtin.unrealized_conversion_cast %x, %s : !F, !relax.object to tuple<!F, !relax.object>
  // expected-error@+1 {{'relax.call_inplace_packed' op cannot overwrite argument 1, R.Object, with R.Tensor((4,), "float32")}}
  %0 = "relax.call_inplace_packed"(%t) {func = "f", inplace_indices = array<i64: 1>} : (tuple<!F, !relax.object>) -> !F
  return
}

// -----

!F = tensor<4xf32>
func.func @no_indices(%x: !F) {
  %t = builtin.unrealized_conversion_cast %x : !F to tuple<!F>
  // expected-error@+1 {{'relax.call_inplace_packed' op attribute 'inplace_indices' must be integers, got 3 : i64}}
  %0 = "relax.call_inplace_packed"(%t) {func = "f", inplace_indices = 3} : (tuple<!F>) -> !F
  return
}
