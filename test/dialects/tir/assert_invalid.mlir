// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @condition(%n: index) {
  // expected-error@+1 {{'tir.assert' op takes one condition of type i1}}
  "tir.assert"(%n) {message = "m"} : (index) -> ()
  return
}

// -----

func.func @count() {
  // expected-error@+1 {{'tir.assert' op takes one condition of type i1}}
  "tir.assert"() {message = "m"} : () -> ()
  return
}

// -----

func.func @no_message(%ok: i1) {
  // expected-error@+1 {{'tir.assert' op 'message' must be a string, got None}}
  "tir.assert"(%ok) : (i1) -> ()
  return
}

// -----

func.func @message(%ok: i1) {
  // expected-error@+1 {{'tir.assert' op 'message' must be a string, got 3 : i64}}
  "tir.assert"(%ok) {message = 3 : i64} : (i1) -> ()
  return
}

// -----

func.func @results(%ok: i1) {
  // expected-error@+1 {{'tir.assert' op has no results}}
  %0 = "tir.assert"(%ok) {message = "m"} : (i1) -> i1
  return
}
