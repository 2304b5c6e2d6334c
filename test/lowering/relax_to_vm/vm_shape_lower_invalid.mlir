// RUN: relax-opt %s --vm-shape-lower --split-input-file --verify-diagnostics

#m = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>

func.func @unbound(%x: tensor<?xf32>) -> !relax.shape<#m> attributes {relax.function} {
  // expected-error@below {{'relax.shape_expr' op uses m, but nothing before it binds 'm'}}
  %s = "relax.shape_expr"() : () -> !relax.shape<#m>
  return %s : !relax.shape<#m>
}

// -----

#m = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>

// A branch's symbol is gone after it.
func.func @left_branch(%c: tensor<i1>, %x: tensor<?xf32>) -> !relax.shape<#m> attributes {relax.function} {
  "relax.if"(%c) ({
    %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #m>
    "relax.yield"() : () -> ()
  }, {
    "relax.yield"() : () -> ()
  }) : (tensor<i1>) -> ()
  // expected-error@below {{binds 'm'}}
  %s = "relax.shape_expr"() : () -> !relax.shape<#m>
  return %s : !relax.shape<#m>
}

// -----

#n2 = #relax.dims<["n"], affine_map<()[s0] -> (s0 * s0)>>

// An expression that cannot be solved for its symbols does not bind them.
// expected-error@below {{'func.func' op uses n * n, but nothing before it binds 'n': symbols are bound by a dimension of a parameter or of an earlier match_cast}}
func.func @compound_only(%x: tensor<?xf32, #n2>) -> tensor<?xf32, #n2> attributes {relax.function} {
  return %x : tensor<?xf32, #n2>
}

// -----

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s0 + s1)>>

func.func @match_cast(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relax.function} {
  // expected-error@below {{'relax.match_cast' op uses m + n, but nothing before it binds 'm', 'n'}}
  %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #nm>
  return %x : tensor<?xf32>
}

// -----

func.func @out_of_order(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.function} {
  // expected-error@+1 {{'relax.dataflow' op must be lowered before VMShapeLower: run to-non-dataflow first}}
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error@+1 {{parameter 0 of @signature: the names in #relax.dims are strings, got 3 : i64}}
func.func @signature(%x: tensor<?xf32, #relax.dims<[3], affine_map<()[s0] -> (s0)>>>) attributes {relax.function} {
  return
}
