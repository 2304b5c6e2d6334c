// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @operand(%x: f32) {
  // expected-error@+1 {{'tir.call_packed' op takes one tuple}}
  %0 = "tir.call_packed"(%x) {callee = "f", dtype = "int32", dtypes = ["float32"]} : (f32) -> i32
  return
}

// -----

func.func @callee(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_packed' op 'callee' must be the name of a function, got ""}}
  %0 = "tir.call_packed"(%t) {callee = "", dtype = "int32", dtypes = ["float32"]} : (tuple<f32>) -> i32
  return
}

// -----

func.func @dtypes(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_packed' op 'dtypes' must be 1 strings, and lists of one for strings}}
  %0 = "tir.call_packed"(%t) {callee = "f", dtype = "int32", dtypes = [["text"]]} : (tuple<f32>) -> i32
  return
}

// -----

func.func @text(%t: tuple<>) {
  // expected-error@+1 {{'tir.call_packed' op 'dtypes' must be 0 strings, and lists of one for strings}}
  %0 = "tir.call_packed"(%t) {callee = "f", dtype = "int32", dtypes = [[3]]} : (tuple<>) -> i32
  return
}

// -----

func.func @result(%t: tuple<f32>) {
  // expected-error@+1 {{'tir.call_packed' op has one result, and 'dtype' says its dtype}}
  %0 = "tir.call_packed"(%t) {callee = "f", dtypes = ["float32"]} : (tuple<f32>) -> i32
  return
}
