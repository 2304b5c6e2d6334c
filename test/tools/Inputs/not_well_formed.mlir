func.func @bad() -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0)>>> attributes {relax.function} {
  %0 = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
  return %0 : !relax.shape<#relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
}
