func.func @f() {
  // expected-error@below {{op was not bufferized}}
  %0 = "test.source"() : () -> tensor<4xf32>
  return
}
