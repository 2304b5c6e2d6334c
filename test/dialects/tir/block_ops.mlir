// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @row_sums(
// CHECK-SAME: %[[A:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<4xf32>
func.func @row_sums(%A: memref<4x8xf32>, %B: memref<4xf32>, %i: index, %j: index) attributes {tir.prim_func} {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK: "tir.block"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ({
  "tir.block"(%i, %j, %c4, %c8) ({
  // CHECK-NEXT: ^bb0(%[[VI:.*]]: index, %[[VJ:.*]]: index):
  ^bb0(%vi: index, %vj: index):
    // CHECK-NEXT: "tir.reads"(%[[A]]) {map = #{{.*}}} : (memref<4x8xf32>) -> ()
    "tir.reads"(%A) {map = #id} : (memref<4x8xf32>) -> ()
    // CHECK-NEXT: "tir.writes"(%[[B]]) {map = #{{.*}}} : (memref<4xf32>) -> ()
    "tir.writes"(%B) {map = #row} : (memref<4xf32>) -> ()
    // CHECK-NEXT: memref.load %[[A]][%[[VI]], %[[VJ]]]
    %0 = memref.load %A[%vi, %vj] : memref<4x8xf32>
    %1 = memref.load %B[%vi] : memref<4xf32>
    %2 = arith.addf %1, %0 : f32
    memref.store %2, %B[%vi] : memref<4xf32>
    // CHECK: "tir.yield"() : () -> ()
    // CHECK-NEXT: }, {
    "tir.yield"() : () -> ()
  }, {
  // CHECK-NEXT: ^bb0(%[[WI:.*]]: index, %{{.*}}: index):
  ^bb0(%vi: index, %vj: index):
    // CHECK: memref.store %{{.*}}, %[[B]][%[[WI]]]
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %B[%vi] : memref<4xf32>
    "tir.yield"() : () -> ()
  // CHECK: }) {block_name = "B", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
  }) {block_name = "B", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
  return
}

// An element that is no affine function of the iterators is declared by `unit`; no reduction, no init.
// CHECK-LABEL: func.func @gather(
func.func @gather(%A: memref<4xf32>, %I: memref<3xindex>, %i: index, %n: index) attributes {tir.prim_func} {
  // CHECK: "tir.block"
  "tir.block"(%i, %n) ({
  ^bb0(%vi: index):
    // CHECK: "tir.reads"(%{{.*}}) {map} : (memref<4xf32>) -> ()
    "tir.reads"(%A) {map} : (memref<4xf32>) -> ()
    "tir.yield"() : () -> ()
  // CHECK: }, {
  // CHECK-NEXT: }) {block_name = "G", iter_types = ["opaque"]} : (index, index) -> ()
  }, {}) {block_name = "G", iter_types = ["opaque"]} : (index, index) -> ()
  return
}

// CHECK-LABEL: func.func @no_iterators(
func.func @no_iterators() attributes {tir.prim_func} {
  // CHECK: }) {block_name = "root", iter_types = []} : () -> ()
  "tir.block"() ({ "tir.yield"() : () -> () }, {}) {block_name = "root", iter_types = []} : () -> ()
  return
}
