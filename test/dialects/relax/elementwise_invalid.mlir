// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{'relax.add' op shapes (3) and (4) cannot be broadcast: dimension -1 is 3 and 4}}
  %0 = "relax.add"(%x, %y) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @dtypes(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error@+1 {{'relax.divide' op operand dtypes must match, got float32 and float16}}
  %0 = "relax.divide"(%x, %y) : (tensor<3xf32>, tensor<3xf16>) -> tensor<3xf32>
  return
}

// -----

func.func @result(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.add' op result must be R.Tensor((3,), "float32"), declared R.Tensor((4,), "float32")}}
  %0 = "relax.add"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @comparison(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.less' op result must be R.Tensor((3,), "bool"), declared R.Tensor((3,), "float32")}}
  %0 = "relax.less"(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @float_only(%x: tensor<3xi32>) {
  // expected-error@+1 {{'relax.exp' op operand must have a floating-point dtype, got int32}}
  %0 = "relax.exp"(%x) : (tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @count(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.add' op takes 2 operands, got 1}}
  %0 = "relax.add"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @no_result(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.exp' op has one result, got 0}}
  "relax.exp"(%x) : (tensor<3xf32>) -> ()
  return
}

// -----

func.func @not_a_tensor(%x: !relax.object) {
  // expected-error@+1 {{'relax.exp' op x must be a tensor, got R.Object}}
  %0 = "relax.exp"(%x) : (!relax.object) -> tensor<3xf32>
  return
}

// -----

func.func @cast_without_dtype(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.astype' op needs attribute 'dtype'}}
  %0 = "relax.astype"(%x) : (tensor<3xf32>) -> tensor<3xf16>
  return
}

// -----

func.func @cast_to_a_typo(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.astype' op unknown dtype 'flaot16'; did you mean 'float16'?}}
  %0 = "relax.astype"(%x) {dtype = "flaot16"} : (tensor<3xf32>) -> tensor<3xf16>
  return
}
