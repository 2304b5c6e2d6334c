// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @result(%x: tensor<f32>) attributes {relax.function} {
  // expected-error@+1 {{has one result of type !relax.object}}
  %f = "relax.lambda"() ({
    "relax.yield"(%x) : (tensor<f32>) -> ()
  }) : () -> tensor<f32>
  return
}

// -----

func.func @nothing() attributes {relax.function} {
  // expected-error@+1 {{body must end with 'relax.yield' of one value}}
  %f = "relax.lambda"() ({
    "relax.yield"() : () -> ()
  }) : () -> !relax.object
  return
}

// -----

func.func @called(%x: tensor<f32>) attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>
  // expected-error@+1 {{calls a function, which is an object, got R.Tensor((), "float32")}}
  %f = "relax.invoke_closure"(%x, %t) : (tensor<f32>, tuple<tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @arguments(%f: !relax.object, %x: tensor<f32>) attributes {relax.function} {
  // expected-error@+1 {{arguments must be a tuple, got R.Tensor((), "float32")}}
  %r = "relax.invoke_closure"(%f, %x) : (!relax.object, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @captured(%x: tensor<f32>) attributes {relax.function} {
  // expected-error@+1 {{takes the tuple of captured values}}
  %f = "relax.make_closure"(%x) {callee = @captured} : (tensor<f32>) -> !relax.object
  return
}

// -----

func.func @impure(%f: !relax.object, %x: tensor<f32>) attributes {relax.function} {
  %d = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : tensor<f32> to tuple<tensor<f32>>
    // expected-error@+1 {{may have side effects unless it is marked 'pure'; a dataflow block holds only pure bindings}}
    %r = "relax.invoke_closure"(%f, %t) : (!relax.object, tuple<tensor<f32>>) -> tensor<f32>
    "relax.output"(%r) : (tensor<f32>) -> ()
  }) : () -> tensor<f32>
  return
}
