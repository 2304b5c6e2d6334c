// RUN: relax-opt %s --canonicalize-bindings --verify-diagnostics
// RUN: relax-opt %s --infer-type --verify-diagnostics

// expected-error@+1 {{parameter 0 of @f: the names in #relax.dims are strings, got 3 : i64}}
func.func @f(%x: tensor<?xf32, #relax.dims<[3], affine_map<()[s0] -> (s0)>>>) attributes {relax.function} {
  return
}
