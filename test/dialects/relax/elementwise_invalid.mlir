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

// -----

func.func @where_needs_a_bool(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'relax.where' op condition must have a bool dtype, got float32}}
  %0 = "relax.where"(%a, %b, %c) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @where_of_two_dtypes(%a: tensor<3xi1>, %b: tensor<3xf32>, %c: tensor<3xf16>) {
  // expected-error@+1 {{'relax.where' op operand dtypes must match, got float32 and float16}}
  %0 = "relax.where"(%a, %b, %c) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf16>) -> tensor<3xf32>
  return
}

// -----

func.func @bits_of_floats(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.bitwise_and' op operand must have an integer or bool dtype, got float32}}
  %0 = "relax.bitwise_and"(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @shifted_bools(%a: tensor<3xi1>, %b: tensor<3xi1>) {
  // expected-error@+1 {{'relax.left_shift' op operand must have an integer dtype, got bool}}
  %0 = "relax.left_shift"(%a, %b) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @sign_of_bools(%a: tensor<3xi1>) {
  // expected-error@+1 {{'relax.sign' op operand must have a numeric dtype, got bool}}
  %0 = "relax.sign"(%a) : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @truth_is_a_bool(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.isnan' op result must be R.Tensor((3,), "bool"), declared R.Tensor((3,), "float32")}}
  %0 = "relax.isnan"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @clip_needs_bounds(%a: tensor<3xf32>) {
  // expected-error@+1 {{'relax.clip' op needs attribute 'max'}}
  %0 = "relax.clip"(%a) {min = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slopes_of_another_count(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'relax.prelu' op alpha has 2 elements for 3 channels}}
  %0 = "relax.prelu"(%a, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @negative_of_bools(%x: tensor<4xi1>) {
  // expected-error@+1 {{'relax.negative' op operand must have a numeric dtype, got bool; cast it first, as in R.astype(x, "int32")}}
  %0 = "relax.negative"(%x) : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @divide_bools(%x: tensor<4xi1>) {
  // expected-error@+1 {{'relax.divide' op operand must have a numeric dtype, got bool}}
  %0 = "relax.divide"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}
