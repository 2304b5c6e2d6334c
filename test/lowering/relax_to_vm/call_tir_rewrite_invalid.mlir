// RUN: relax-opt %s --call-tir-rewrite --split-input-file --verify-diagnostics

func.func @unknown_dtype(%s: !relax.shape<1 : i64>, %a: tuple<tensor<?xf32>>) -> tensor<?x!relax.any_dtype> attributes {relax.function} {
  // expected-error@below {{cannot allocate R.Tensor(ndim=1): give the result's dtype}}
  %y = "relax.call_dps_packed"(%s, %a) {func = "my.kernel"} : (!relax.shape<1 : i64>, tuple<tensor<?xf32>>) -> tensor<?x!relax.any_dtype>
  return %y : tensor<?x!relax.any_dtype>
}
