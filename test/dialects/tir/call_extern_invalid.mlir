// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @operand(%x: f32) {
  // expected-error@+1 {{'tir.call_extern' op takes one tuple}}
  "tir.call_extern"(%x) {callee = "f", dtypes = ["float32"]} : (f32) -> ()
  return
}

// -----

func.func @callee(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_extern' op 'callee' must be a C identifier, got "f()"}}
  "tir.call_extern"(%t) {callee = "f()", dtypes = ["float32"]} : (tuple<f32>) -> ()
  return
}

// -----

func.func @dtypes(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_extern' op 'dtypes' must be 1 strings, got ["float32", "int8"]}}
  "tir.call_extern"(%t) {callee = "f", dtypes = ["float32", "int8"]} : (tuple<f32>) -> ()
  return
}

// -----

func.func @result(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_extern' op 'dtype' must be that of the result, got None}}
  %0 = "tir.call_extern"(%t) {callee = "f", dtypes = ["float32"]} : (tuple<f32>) -> f32
  return
}
