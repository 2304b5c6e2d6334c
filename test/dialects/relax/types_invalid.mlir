// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @element(%x: tensor<2xi7>) {
  // expected-error@+1 {{'relax.abs' op operand 0: 'i7' is not an element type of a Relax tensor}}
  %0 = "relax.abs"(%x) : (tensor<2xi7>) -> tensor<2xi7>
  return
}

// -----

func.func @other_encoding(%x: tensor<?xf32, "sparse">) {
  // expected-error@+1 {{'relax.abs' op operand 0: the encoding of a Relax tensor must be #relax.dims, got "sparse"}}
  %0 = "relax.abs"(%x) : (tensor<?xf32, "sparse">) -> tensor<?xf32>
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0, s1] -> (s0 + s1)>>>
func.func @too_few_names(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: #relax.dims has 1 names for 2 symbols}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["n"], affine_map<(d0)[s0] -> (d0 + s0)>>>
func.func @dimension_identifier(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: #relax.dims names symbols, not dimension identifiers, got (d0)[s0] -> (d0 + s0)}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["n", "n"], affine_map<()[s0, s1] -> (s0 + s1)>>>
func.func @twice(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: symbol 'n' occurs twice in #relax.dims}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["n", "m"], affine_map<()[s0, s1] -> (s0 + s1)>>>
func.func @unsorted(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: the names in #relax.dims must be sorted, got 'n' before 'm'}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1)>>>
func.func @unused(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: no dimension of #relax.dims uses symbol 'm'}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["a b"], affine_map<()[s0] -> (s0)>>>
func.func @no_identifier(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: a symbol of #relax.dims must be an identifier, or a minimum or maximum in normal form, got 'a b'}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0 floordiv 0)>>>
func.func @by_zero(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: division of n by zero in a shape expression}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?x4xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0, 5)>>>
func.func @constant_mismatch(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: dimension 1 is 4 in the tensor and 5 in its #relax.dims}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<?x?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
func.func @rank(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: #relax.dims has 1 dimensions for a tensor of 2}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

!t = tensor<4xf32, #relax.dims<[], affine_map<() -> (4)>>>
func.func @static(%x: !t) {
  // expected-error@+1 {{'relax.abs' op operand 0: a tensor of static shape has no encoding}}
  %0 = "relax.abs"(%x) : (!t) -> !t
  return
}

// -----

func.func @shape_parameter(%s: !relax.shape<"n">) {
  // expected-error@+1 {{'relax.match_cast' op operand 0: !relax.shape takes #relax.dims, a length or unit, got "n"}}
  %0 = "relax.match_cast"(%s) : (!relax.shape<"n">) -> !relax.shape<unit>
  return
}
