// RUN: relax-opt %s --call-tir-rewrite --split-input-file --verify-diagnostics

func.func @unknown_dtype(%s: !relax.shape<1 : i64>, %a: tuple<tensor<?xf32>>) -> tensor<?x!relax.any_dtype> attributes {relax.function} {
  // expected-error@below {{cannot allocate R.Tensor(ndim=1): give the result's dtype}}
  %y = "relax.call_dps_packed"(%s, %a) {func = "my.kernel"} : (!relax.shape<1 : i64>, tuple<tensor<?xf32>>) -> tensor<?x!relax.any_dtype>
  return %y : tensor<?x!relax.any_dtype>
}

// -----

func.func @out_of_order(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.function} {
  // expected-error@+1 {{'relax.dataflow' op must be lowered before CallTIRRewrite: run to-non-dataflow first}}
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
