// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @kind(%x: i64) attributes {relax.function} {
  // expected-error@+1 {{'kind' must be one of less, less_equal}}
  %l = "relax.compare_prim"(%x, %x) {kind = "lt"} : (i64, i64) -> i1
  return
}

// -----

func.func @logic(%x: i64) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : i64 to tuple<i64>
  // expected-error@+1 {{'not' cannot be applied to R.Tuple(R.Prim("int64"))}}
  %l = "relax.logic_prim"(%t) {kind = "not"} : (tuple<i64>) -> i1
  return
}

// -----

func.func @prim(%x: tensor<f32>) attributes {relax.function} {
  // expected-error@+1 {{takes one integer and has no result}}
  "relax.match_prim"(%x) {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : (tensor<f32>) -> ()
  return
}

// -----

func.func @carried(%x: tensor<f32>, %y: tensor<i64>) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>
  // expected-error@+1 {{body yields (R.Tuple(R.Tensor((), "int64"))), the carried values are R.Tuple(R.Tensor((), "float32"))}}
  %r = "relax.while"(%t) ({
  ^bb0(%a: tensor<f32>):
    %c = "relax.less"(%a, %x) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "relax.condition"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>):
    %b = builtin.unrealized_conversion_cast %y : tensor<i64> to tuple<tensor<i64>>
    "relax.yield"(%b) : (tuple<tensor<i64>>) -> ()
  }) : (tuple<tensor<f32>>) -> tuple<tensor<f32>>
  return
}

// -----

func.func @arguments(%x: tensor<f32>) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>
  // expected-error@+1 {{condition must take (R.Tensor((), "float32")), got ()}}
  %r = "relax.while"(%t) ({
    %c = "relax.less"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "relax.condition"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>):
    "relax.yield"(%t) : (tuple<tensor<f32>>) -> ()
  }) : (tuple<tensor<f32>>) -> tuple<tensor<f32>>
  return
}

// -----

func.func @condition(%x: tensor<f32>) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast to tuple<>
  %r = "relax.while"(%t) ({
    // expected-error@+1 {{takes a scalar bool, got (R.Tensor((), "float32"))}}
    "relax.condition"(%x) : (tensor<f32>) -> ()
  }, {
    "relax.yield"(%t) : (tuple<>) -> ()
  }) : (tuple<>) -> tuple<>
  return
}

// -----

func.func @bounds(%k: i64) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast to tuple<>
  %b = builtin.unrealized_conversion_cast %k : i64 to tuple<i64>
  // expected-error@+1 {{needs start, stop and step as a tuple of integers, got R.Tuple(R.Prim("int64"))}}
  %r = "relax.for"(%b, %t) ({
  ^bb0(%i: i64):
    "relax.yield"(%t) : (tuple<>) -> ()
  }) : (tuple<i64>, tuple<>) -> tuple<>
  return
}

// -----

func.func @dataflow(%k: i64) attributes {relax.function} {
  "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast to tuple<>
    %b = builtin.unrealized_conversion_cast %k, %k, %k : i64, i64, i64 to tuple<i64, i64, i64>
    // expected-error@+1 {{is control flow; a dataflow block holds only pure bindings}}
    %r = "relax.for"(%b, %t) ({
    ^bb0(%i: i64):
      "relax.yield"(%t) : (tuple<>) -> ()
    }) : (tuple<i64, i64, i64>, tuple<>) -> tuple<>
    "relax.output"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @itself(%x: tensor<f32>) attributes {relax.function} {
  // expected-error@+1 {{is recursive: its first parameter is itself, an !relax.object}}
  %f = "relax.lambda"() ({
  ^bb0(%a: tensor<f32>):
    "relax.yield"(%a) : (tensor<f32>) -> ()
  }) {recursive} : () -> !relax.object
  return
}
