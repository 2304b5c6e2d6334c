// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @guarded(
func.func @guarded(%A: memref<10xf32>, %i: index, %n: index, %p: i1) attributes {tir.prim_func} {
  // CHECK: "tir.block"(%{{.*}}, %{{.*}}) ({
  "tir.block"(%i, %n) ({
  // CHECK-NEXT: ^bb0
  ^bb0(%vi: index):
    // CHECK-NEXT: "tir.where"(%[[P:.*]]) : (i1) -> ()
    "tir.where"(%p) : (i1) -> ()
    "tir.writes"(%A) {map = #id} : (memref<10xf32>) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  // CHECK: "tir.block"
  "tir.block"(%i, %n) ({
  ^bb0(%vi: index):
    // CHECK: "tir.writes"
    // CHECK-NEXT: "tir.where"(%[[P]]) : (i1) -> ()
    "tir.writes"(%A) {map = #id} : (memref<10xf32>) -> ()
    "tir.where"(%p) : (i1) -> ()
    "tir.yield"() : () -> ()
  }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
  return
}
