// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @operands(%i: index) {
  // expected-error@+1 {{'tir.block' op takes 2 operands, a value and an extent for each of 1 iterators, got 1}}
  "tir.block"(%i) ({ ^bb0(%vi: index): "tir.yield"() : () -> () }, {}) {block_name = "B", iter_types = ["spatial"]} : (index) -> ()
  return
}

// -----

func.func @iterator_kind(%i: index) {
  // expected-error@+1 {{'tir.block' op iterator must be one of spatial, reduction, scan, opaque, got "space"}}
  "tir.block"(%i, %i) ({ ^bb0(%vi: index): "tir.yield"() : () -> () }, {}) {block_name = "B", iter_types = ["space"]} : (index, index) -> ()
  return
}

// -----

func.func @name(%i: index) {
  // expected-error@+1 {{'tir.block' op needs the StringAttr 'block_name'}}
  "tir.block"(%i, %i) ({ ^bb0(%vi: index): "tir.yield"() : () -> () }, {}) {iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @body_arguments(%i: index) {
  // expected-error@+1 {{'tir.block' op body takes 1 index value, got (index, index)}}
  "tir.block"(%i, %i) ({ ^bb0(%vi: index, %vj: index): "tir.yield"() : () -> () }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @init_arguments(%i: index) {
  // expected-error@+1 {{'tir.block' op init takes 1 index value, got ()}}
  "tir.block"(%i, %i) ({ ^bb0(%vi: index): "tir.yield"() : () -> () }, { "tir.yield"() : () -> () }) {block_name = "B", iter_types = ["reduction"]} : (index, index) -> ()
  return
}

// -----

func.func @map_results(%A: memref<4x8xf32>, %i: index) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.reads' op map must have 2 results, got 1}}
    "tir.reads"(%A) {map = affine_map<(d0) -> (d0)>} : (memref<4x8xf32>) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @map_iterators(%A: memref<4xf32>, %i: index) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.writes' op map must take the 1 iterators of its block, got (d0, d1) -> (d0)}}
    "tir.writes"(%A) {map = affine_map<(d0, d1) -> (d0)>} : (memref<4xf32>) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @map_kind(%A: memref<4xf32>, %i: index) {
  "tir.block"(%i, %i) ({
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.reads' op 'map' must be an affine map or unit, got "all"}}
    "tir.reads"(%A) {map = "all"} : (memref<4xf32>) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @reads_elsewhere(%A: memref<4xf32>) {
  // expected-error@+1 {{'tir.reads' op must stand directly in 'tir.block', got 'func.func'}}
  "tir.reads"(%A) {map} : (memref<4xf32>) -> ()
  return
}
