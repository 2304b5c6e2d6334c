// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @kind(%n: index) {
  // expected-error@+1 {{'tir.for' op kind must be one of serial, parallel, vectorized, unrolled, got "paralel"}}
  "tir.for"(%n, %n) ({ ^bb0(%i: index): "tir.yield"() : () -> () }) {kind = "paralel"} : (index, index) -> ()
  return
}

// -----

func.func @extent(%n: index) {
  // expected-error@+1 {{'tir.for' op takes a lower bound, an extent, and the attribute 'kind'}}
  "tir.for"(%n) ({ ^bb0(%i: index): "tir.yield"() : () -> () }) {kind = "serial"} : (index) -> ()
  return
}

// -----

func.func @counter(%n: index) {
  // expected-error@+1 {{'tir.for' op body takes 1 index value, got (i32)}}
  "tir.for"(%n, %n) ({ ^bb0(%i: i32): "tir.yield"() : () -> () }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

func.func @no_body(%n: index) {
  // expected-error@+1 {{'tir.for' op body must be one block, got 0}}
  "tir.for"(%n, %n) ({ }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

func.func @no_yield(%n: index) {
  // expected-error@+1 {{'tir.for' op body must end with 'tir.yield'}}
  "tir.for"(%n, %n) ({ ^bb0(%i: index): llvm.unreachable }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

func.func @yield_elsewhere() {
  // expected-error@+1 {{'tir.yield' op must stand directly in 'tir.for' or 'tir.block', got 'func.func'}}
  "tir.yield"() : () -> ()
}

// -----

func.func @symbol_value() {
  // expected-error@+1 {{'tir.symbol' op attribute 'value': expected #relax.dims, got "n"}}
  %0 = "tir.symbol"() {value = "n"} : () -> index
  return
}

// -----

func.func @symbol_of_two() {
  // expected-error@+1 {{'tir.symbol' op needs 'value' to be one expression, got #relax.dims<[], affine_map<() -> (1, 2)>>}}
  %0 = "tir.symbol"() {value = #relax.dims<[], affine_map<() -> (1, 2)>>} : () -> index
  return
}

// -----

func.func @symbol_type() {
  // expected-error@+1 {{'tir.symbol' op has one result of type index}}
  %0 = "tir.symbol"() {value = #relax.dims<[], affine_map<() -> (1)>>} : () -> i64
  return
}
