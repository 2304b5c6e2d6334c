// REQUIRES: mlir-opt
// A stock mlir-opt that knows our dialects only by their IRDL reads, checks and writes our modules.
//
// DEFINE: %{irdl} = %S/../../../dialects/irdl/relax_mlir.irdl.mlir
// RUN: relax-opt %s -o %t.ours
// RUN: relax-opt %s -export-stock | mlir-opt --irdl-file=%{irdl} | relax-opt -import-stock -o %t.text
// RUN: diff %t.ours %t.text
// RUN: relax-opt %s -export-stock | mlir-opt --irdl-file=%{irdl} --canonicalize --cse | relax-opt -import-stock | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#id = affine_map<(d0) -> (d0)>
#n = affine_map<()[s0] -> (s0)>
!n4 = tensor<?x4xf32, #relax.dims<["n"], #n4>>

// CHECK-LABEL: func.func @main(
func.func @main(%c: tensor<i1>, %x: !n4) -> !n4 attributes {relax.function} {
  // CHECK: "relax.dataflow"
  %0 = "relax.dataflow"() ({
    // CHECK: "relax.softmax"
    %1 = "relax.softmax"(%x) {axis = 1 : i64} : (!n4) -> !n4
    // CHECK: "relax.output"
    "relax.output"(%1) : (!n4) -> ()
  }) : () -> !n4
  // CHECK: "relax.if"
  %2 = "relax.if"(%c) ({
    // CHECK: "relax.yield"
    "relax.yield"(%0) : (!n4) -> ()
  }, {
    "relax.yield"(%x) : (!n4) -> ()
  }) : (tensor<i1>) -> !n4
  // CHECK: return
  return %2 : !n4
}

// CHECK-LABEL: func.func @kernel(
func.func @kernel(%A: memref<?xf32> {tir.name = "A", tir.shape = #relax.dims<["n"], #n>}) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  // CHECK: "tir.symbol"
  %n = "tir.symbol"() {value = #relax.dims<["n"], #n>} : () -> index
  // CHECK: "tir.for"
  "tir.for"(%zero, %n) ({
  ^bb0(%i: index):
    // CHECK: "tir.block"
    "tir.block"(%i, %n) ({
    ^bb0(%vi: index):
      "tir.writes"(%A) {map = #id} : (memref<?xf32>) -> ()
      "tir.yield"() : () -> ()
    }, {}) {block_name = "B", iter_types = ["spatial"]} : (index, index) -> ()
    // CHECK: "tir.yield"
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// CHECK-LABEL: func.func @lowered(
func.func @lowered(%x: tensor<?x4xf32>) -> !relax.shape<2 : i64> {
  // CHECK: "vm.alloc_shape_heap"
  %0 = "vm.alloc_shape_heap"() {size = 2 : i64} : () -> !vm.heap
  "vm.store_shape"(%x, %0) {slots = array<i64: 0, -1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  %1 = "vm.load_shape"(%0) {slots = array<i64: 0, 0>} : (!vm.heap) -> !relax.shape<2 : i64>
  return %1 : !relax.shape<2 : i64>
}
