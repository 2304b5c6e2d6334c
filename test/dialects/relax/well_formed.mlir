// RUN: relax-opt %s -well-formed -split-input-file -verify-diagnostics

#n = affine_map<()[s0] -> (s0)>
#nn = affine_map<()[s0] -> (s0, s0)>
!n = tensor<?xf32, #relax.dims<["n"], #n>>
!k = tensor<?xf32, #relax.dims<["k"], #n>>

func.func @good(%x: !n) -> !k attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %1 = "relax.unique"(%x) : (!n) -> tensor<?xf32>
    %2 = "relax.match_cast"(%1) : (tensor<?xf32>) -> !k
    "relax.output"(%2) : (!k) -> ()
  }) : () -> !k
  %s = "relax.shape_of"(%0) : (!k) -> !relax.shape<#relax.dims<["k"], #n>>
  %t = builtin.unrealized_conversion_cast %0 : !k to tuple<!k>
  %3 = "relax.call_tir"(%s, %t) {callee = @kernel} : (!relax.shape<#relax.dims<["k"], #n>>, tuple<!k>) -> !k
  %4 = "relax.call"(%t) {callee = @good} : (tuple<!k>) -> tensor<?xf32>
  return %3 : !k
}

func.func @kernel(%a: memref<?xf32> {tir.name = "A", tir.shape = #relax.dims<["n"], #n>}, %b: memref<?xf32>) attributes {tir.prim_func} {
  %0 = "tir.symbol"() {value = #relax.dims<["n"], #n>} : () -> index
  return
}

// -----

#n = affine_map<()[s0] -> (s0)>
func.func @unbound(%x: tensor<?xf32, #relax.dims<["rows"], #n>>) attributes {relax.function} {
  // expected-error@+1 {{symbol 'row' used by 'relax.shape_expr' in @unbound is not bound: it is no dimension of a parameter by itself, none can be solved for it, and no relax.match_cast before binds it; did you mean 'rows'?}}
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["row"], #n>>
  return
}

// -----

#square = affine_map<()[s0] -> (s0 * s0)>
// expected-error@+1 {{symbol 'n' used by parameter 0 in @compound is not bound}}
func.func @compound(%x: tensor<?xf32, #relax.dims<["n"], #square>>) attributes {relax.function} {
  return
}

// -----

#n = affine_map<()[s0] -> (s0)>
func.func @branch_is_a_scope(%c: tensor<i1>, %x: tensor<*xf32>) attributes {relax.function} {
  "relax.if"(%c) ({
    %0 = "relax.match_cast"(%x) : (tensor<*xf32>) -> tensor<?xf32, #relax.dims<["n"], #n>>
    %1 = "relax.prim_value"() {value = #relax.dims<["n"], #n>} : () -> i64
    "relax.yield"() : () -> ()
  }, {
    // expected-error@+1 {{symbol 'n' used by 'relax.prim_value' in @branch_is_a_scope is not bound}}
    %0 = "relax.prim_value"() {value = #relax.dims<["n"], #n>} : () -> i64
    "relax.yield"() : () -> ()
  }) : (tensor<i1>) -> ()
  return
}

// -----

#n = affine_map<()[s0] -> (s0)>
func.func @bound_too_late(%x: tensor<*xf32>) attributes {relax.function} {
  // expected-error@+1 {{symbol 'n' used by 'relax.prim_value' in @bound_too_late is not bound}}
  %0 = "relax.prim_value"() {value = #relax.dims<["n"], #n>} : () -> i64
  %1 = "relax.match_cast"(%x) : (tensor<*xf32>) -> tensor<?xf32, #relax.dims<["n"], #n>>
  return
}

// -----

// Types of a signature belong to no operation of ours, so nobody else looks at them.
// expected-error@+1 {{parameter 0 of @signature: 'i7' is not an element type of a Relax tensor}}
func.func @signature(%x: tensor<2xi7>) attributes {relax.function} {
  return
}

// -----

// expected-error@+1 {{parameter 0 of @vector: no Relax value has type 'vector<4xf32>'}}
func.func @vector(%x: vector<4xf32>) attributes {relax.function} {
  return
}

// -----

// expected-error@+1 {{parameter 0 of @nested: no Relax value has type 'index'}}
func.func @nested(%x: tuple<tensor<2xf32>, index>) attributes {relax.function} {
  return
}

// -----

// expected-error@+1 {{result 0 of @declared: 'i7' is not an element type of a Relax tensor}}
func.func private @declared() -> tensor<2xi7> attributes {relax.function}

// -----

func.func @missing(%s: !relax.shape<unit>, %t: tuple<>) attributes {relax.function} {
  // expected-error@+1 {{'relax.call_tir' op calls @kernl, which is not in the module; did you mean 'kernel'?}}
  %0 = "relax.call_tir"(%s, %t) {callee = @kernl} : (!relax.shape<unit>, tuple<>) -> tensor<*xf32>
  // expected-error@+1 {{'relax.call_tir' op calls @missing, which is not a prim func}}
  %1 = "relax.call_tir"(%s, %t) {callee = @missing} : (!relax.shape<unit>, tuple<>) -> tensor<*xf32>
  // expected-error@+1 {{'relax.call' op calls @kernel, which is not a Relax function}}
  %2 = "relax.call"(%t) {callee = @kernel} : (tuple<>) -> tensor<*xf32>
  return
}
func.func @kernel(%a: memref<?xf32>) attributes {tir.prim_func} {
  return
}

// -----

func.func @call_tir_arguments(%x: tensor<2xf32>, %s: !relax.shape<unit>) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error@+1 {{'relax.call_tir' op passes 1 arguments, 1 outputs and 0 integers, @three takes 3 in all}}
  %0 = "relax.call_tir"(%s, %t) {callee = @three} : (!relax.shape<unit>, tuple<tensor<2xf32>>) -> tensor<*xf32>
  // expected-error@+1 {{'relax.call_tir' op argument 0 is R.Tensor((2,), "float32"), @rank takes a buffer of 2 dimensions}}
  %1 = "relax.call_tir"(%s, %t) {callee = @rank} : (!relax.shape<unit>, tuple<tensor<2xf32>>) -> tensor<*xf32>
  // expected-error@+1 {{'relax.call_tir' op argument 1 is R.Tensor(dtype="int8"), @dtype takes a buffer of bool}}
  %2 = "relax.call_tir"(%s, %t) {callee = @dtype} : (!relax.shape<unit>, tuple<tensor<2xf32>>) -> tensor<*xi8>
  // expected-error@+1 {{'relax.call_tir' op argument 0 is R.Tensor((2,), "float32"), @size takes 3 as dimension 0}}
  %3 = "relax.call_tir"(%s, %t) {callee = @size} : (!relax.shape<unit>, tuple<tensor<2xf32>>) -> tensor<*xf32>
  return
}
func.func @three(%a: memref<?xf32>, %b: memref<?xf32>, %n: i64) attributes {tir.prim_func} { return }
func.func @rank(%a: memref<?x?xf32>, %b: memref<?xf32>) attributes {tir.prim_func} { return }
func.func @dtype(%a: memref<?xf32>, %b: memref<?xi8> {tir.dtype = "bool"}) attributes {tir.prim_func} { return }
func.func @size(%a: memref<3xf32>, %b: memref<?xf32>) attributes {tir.prim_func} { return }

// -----

#nn = affine_map<()[s0] -> (s0, s0)>
func.func @square(%x: tensor<?x?xf32, #relax.dims<["n"], #nn>>) -> tensor<2xf32> attributes {relax.function} {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @call(%x: tensor<3x4xf32>, %y: tensor<3x3xf32>) attributes {relax.function} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<3x4xf32> to tuple<tensor<3x4xf32>>
  // expected-error@+1 {{'relax.call' op argument 0 is R.Tensor((3, 4), "float32"), @square takes R.Tensor((n, n), "float32") where n is 3}}
  %1 = "relax.call"(%0) {callee = @square} : (tuple<tensor<3x4xf32>>) -> tensor<2xf32>
  %2 = builtin.unrealized_conversion_cast %y : tensor<3x3xf32> to tuple<tensor<3x3xf32>>
  // expected-error@+1 {{'relax.call' op result is R.Tensor((3,), "float32"), @square returns R.Tensor((2,), "float32")}}
  %3 = "relax.call"(%2) {callee = @square} : (tuple<tensor<3x3xf32>>) -> tensor<3xf32>
  %4 = builtin.unrealized_conversion_cast %y, %x : tensor<3x3xf32>, tensor<3x4xf32> to tuple<tensor<3x3xf32>, tensor<3x4xf32>>
  // expected-error@+1 {{'relax.call' op passes 2 arguments, @square takes 1}}
  %5 = "relax.call"(%4) {callee = @square} : (tuple<tensor<3x3xf32>, tensor<3x4xf32>>) -> tensor<2xf32>
  return
}

// -----

#n = affine_map<()[s0] -> (s0)>
func.func @prim(%a: memref<?xf32> {tir.shape = #relax.dims<["size"], #n>}, %m: i64 {tir.name = "m"}) attributes {tir.prim_func} {
  %0 = "tir.symbol"() {value = #relax.dims<["m"], #n>} : () -> index
  // expected-error@+1 {{'tir.symbol' op symbol 'sizes' is not bound by the signature of @prim; did you mean 'size'?}}
  %1 = "tir.symbol"() {value = #relax.dims<["sizes"], #n>} : () -> index
  return
}
