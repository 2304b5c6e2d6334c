// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @type(%i: index) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.where' op takes one condition of type i1}}
    "tir.where"(%i) : (index) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @parent(%p: i1) {
  // expected-error@+1 {{'tir.where' op must stand directly in 'tir.block', got 'func.func'}}
  "tir.where"(%p) : (i1) -> ()
  return
}

// -----

func.func @twice(%i: index, %p: i1) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    "tir.where"(%p) : (i1) -> ()
    // expected-error@+1 {{'tir.where' op must stand at the beginning of a block's body, once}}
    "tir.where"(%p) : (i1) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @init(%i: index, %p: i1) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    "tir.yield"() : () -> ()
  }, {
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.where' op must stand at the beginning of a block's body, once}}
    "tir.where"(%p) : (i1) -> ()
    "tir.yield"() : () -> ()
  }) {block_name = "B", iter_types = ["reduction"]} : (index, index) -> ()
  return
}

// -----

func.func @late(%i: index, %p: i1) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    %q = arith.cmpi slt, %vi, %vi : index
    // expected-error@+1 {{'tir.where' op must stand at the beginning of a block's body, once}}
    "tir.where"(%p) : (i1) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}
