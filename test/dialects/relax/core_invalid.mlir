// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @constant_type() {
  // expected-error@+1 {{'relax.constant' op result type must be that of its value, tensor<3xf32>, got tensor<4xf32>}}
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<4xf32>
  return
}

// -----

func.func @shape_expr_unknown() {
  // expected-error@+1 {{'relax.shape_expr' op needs a known shape, got R.Shape(ndim=2)}}
  %0 = "relax.shape_expr"() : () -> !relax.shape<2 : i64>
  return
}

// -----

func.func @negative_shape() {
  // expected-error@+1 {{'relax.shape_expr' op result 0: dimension 0 of a shape cannot be negative, got -2}}
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (-2)>>>
  return
}

// -----

func.func @prim_value_of_two() {
  // expected-error@+1 {{'relax.prim_value' op needs 'value' to be one expression, got #relax.dims<["n"], affine_map<()[s0] -> (s0, 2)>>}}
  %0 = "relax.prim_value"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0, 2)>>} : () -> i64
  return
}

// -----

func.func @prim_value_type() {
  // expected-error@+1 {{'relax.prim_value' op has one result of type i64}}
  %0 = "relax.prim_value"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> !relax.object
  return
}

// -----

func.func @shape_of_a_shape(%s: !relax.shape<unit>) {
  // expected-error@+1 {{'relax.shape_of' op takes one tensor}}
  %0 = "relax.shape_of"(%s) : (!relax.shape<unit>) -> !relax.shape<unit>
  return
}

// -----

func.func @shape_of_other_rank(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.shape_of' op result must be R.Shape([2, 3]), declared R.Shape(ndim=3)}}
  %0 = "relax.shape_of"(%x) : (tensor<2x3xf32>) -> !relax.shape<3 : i64>
  return
}

// -----

func.func @tuple_index(%t: tuple<i64, tensor<2xf32>>) {
  // expected-error@+1 {{'relax.tuple_get_item' op index 2 is out of range for 2 fields}}
  %0 = "relax.tuple_get_item"(%t) {index = 2 : i64} : (tuple<i64, tensor<2xf32>>) -> tensor<2xf32>
  return
}

// -----

func.func @tuple_field(%t: tuple<i64, tensor<2xf32>>) {
  // expected-error@+1 {{'relax.tuple_get_item' op result type must be i64}}
  %0 = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<i64, tensor<2xf32>>) -> tensor<2xf32>
  return
}

// -----

func.func @match_cast_cannot_succeed(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.match_cast' op cannot succeed: value is R.Tensor((3,), "float32"), pattern R.Tensor(ndim=2, dtype="float32")}}
  %0 = "relax.match_cast"(%x) : (tensor<3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @impure_in_dataflow(%t: tuple<>) {
  "relax.dataflow"() ({
    // expected-error@+1 {{'relax.call_packed' op may have side effects; a dataflow block holds only pure bindings}}
    %0 = "relax.call_packed"(%t) {func = "lib.print"} : (tuple<>) -> !relax.object
    "relax.output"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @dataflow_outputs(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.dataflow' op outputs have types (R.Tensor((3,), "float32")), results are declared (R.Object)}}
  %0 = "relax.dataflow"() ({
    "relax.output"(%x) : (tensor<3xf32>) -> ()
  }) : () -> !relax.object
  return
}

// -----

func.func @dataflow_end(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.dataflow' op body must be one block, got 0}}
  "relax.dataflow"() ({
  }) : () -> ()
  return
}

// -----

func.func @output_elsewhere() {
  // expected-error@+1 {{'relax.output' op must stand directly in 'relax.dataflow', got 'func.func'}}
  "relax.output"() : () -> ()
}

// -----

func.func @if_condition(%c: tensor<2xi1>) {
  // expected-error@+1 {{'relax.if' op condition must be a scalar bool, got R.Tensor((2,), "bool")}}
  "relax.if"(%c) ({ "relax.yield"() : () -> () }, { "relax.yield"() : () -> () }) : (tensor<2xi1>) -> ()
  return
}

// -----

func.func @if_branches(%c: tensor<i1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.if' op else branch yields (), results are declared (R.Tensor((2,), "float32"))}}
  %0 = "relax.if"(%c) ({ "relax.yield"(%x) : (tensor<2xf32>) -> () }, { "relax.yield"() : () -> () }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @arguments_no_tuple(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.call_packed' op arguments must be a tuple, got R.Tensor((2,), "float32")}}
  %0 = "relax.call_packed"(%x) {func = "f"} : (tensor<2xf32>) -> !relax.object
  return
}

// -----

func.func @call_tir_shape(%t: tuple<>) {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (2, 3)>>>
  // expected-error@+1 {{'relax.call_tir' op result must be R.Tensor((2, 3), "float32"), got R.Tensor((2, 4), "float32")}}
  %0 = "relax.call_tir"(%s, %t) {callee = @f} : (!relax.shape<#relax.dims<[], affine_map<() -> (2, 3)>>>, tuple<>) -> tensor<2x4xf32>
  return
}

// -----

func.func @call_tir_outputs(%s: tuple<!relax.shape<unit>, !relax.shape<unit>>, %t: tuple<>) {
  // expected-error@+1 {{'relax.call_tir' op has 2 output shapes, result is R.Tensor(dtype="float32")}}
  %0 = "relax.call_tir"(%s, %t) {callee = @f} : (tuple<!relax.shape<unit>, !relax.shape<unit>>, tuple<>) -> tensor<*xf32>
  return
}

// -----

func.func @call_tir_vars(%s: !relax.shape<unit>, %t: tuple<>) {
  // expected-error@+1 {{'relax.call_tir' op attribute 'tir_vars': expected #relax.dims, got 3 : i64}}
  %0 = "relax.call_tir"(%s, %t) {callee = @f, tir_vars = 3 : i64} : (!relax.shape<unit>, tuple<>) -> tensor<*xf32>
  return
}

// -----

func.func @alloc_tensor_dtype(%s: !relax.shape<unit>) {
  // expected-error@+1 {{'relax.alloc_tensor' op result must be float16, got float32}}
  %0 = "relax.alloc_tensor"(%s) {dtype = "float16"} : (!relax.shape<unit>) -> tensor<*xf32>
  return
}

// -----

func.func @callee_elsewhere(%t: tuple<>) {
  // expected-error@+1 {{'relax.call' op attribute 'callee' must be a function's symbol, got @a::@b}}
  %0 = "relax.call"(%t) {callee = @a::@b} : (tuple<>) -> !relax.object
  return
}

// -----

// expected-error@+1 {{'relax.extern_func' op attribute 'params' must be an array of types, got f32}}
"relax.extern_func"() {func = "lib.f", sym_name = "f", params = f32} : () -> ()

// -----

// expected-error@+1 {{'relax.extern_func' op 3 : i64 is no type}}
"relax.extern_func"() {func = "lib.f", sym_name = "f", result = 3} : () -> ()
