// RUN: relax-opt %s -split-input-file -verify-diagnostics | FileCheck %s

#start = affine_map<(d0) -> (d0 * 4, 0)>

// CHECK-LABEL: func.func @regions(
func.func @regions(%A: memref<8x8xf32>, %i: index, %n: index) attributes {tir.prim_func} {
  "tir.block"(%i, %n) ({
  ^bb0(%vi: index):
    // CHECK: "tir.reads"(%{{.*}}) {extents = #relax.dims<[], #{{.*}}>, map = #{{.*}}}
    "tir.reads"(%A) {map = #start, extents = #relax.dims<[], affine_map<() -> (4, 8)>>} : (memref<8x8xf32>) -> ()
    "tir.yield"() : () -> ()
  // CHECK: annotations = {a = 1 : i64}
  }, {}) {annotations = {a = 1 : i64}, block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

#start = affine_map<(d0) -> (d0, 0)>

func.func @extents(%A: memref<8x8xf32>, %i: index, %n: index) {
  "tir.block"(%i, %n) ({
  ^bb0(%vi: index):
    // expected-error@+1 {{'tir.reads' op attribute 'extents': needs 2 sizes, got 1}}
    "tir.reads"(%A) {map = #start, extents = #relax.dims<[], affine_map<() -> (4)>>} : (memref<8x8xf32>) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}

// -----

func.func @loop(%n: index) {
  // expected-error@+1 {{'tir.for' op 'annotations' must be a dictionary, got 1 : i64}}
  "tir.for"(%n, %n) ({
  ^bb0(%i: index):
    "tir.yield"() : () -> ()
  }) {annotations = 1 : i64, kind = "serial"} : (index, index) -> ()
  return
}
