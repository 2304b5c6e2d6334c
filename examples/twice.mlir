// exp(x) + exp(x) for any number of rows: input for relax-opt, and for a stock mlir-opt.
#rows = affine_map<()[n] -> (n, 4)>
!rows = tensor<?x4xf32, #relax.dims<["n"], #rows>>

func.func @main(%x: !rows) -> !rows attributes {relax.function} {
  %sum = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (!rows) -> !rows
    %b = "relax.exp"(%x) : (!rows) -> !rows
    %c = "relax.add"(%a, %b) : (!rows, !rows) -> !rows
    "relax.output"(%c) : (!rows) -> ()
  }) : () -> !rows
  return %sum : !rows
}
