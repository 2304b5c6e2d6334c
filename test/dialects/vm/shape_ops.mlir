// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @heap(
func.func @heap(%x: tensor<?x4xf32>, %n: i64) -> (!relax.shape<2 : i64>, i64) {
  // CHECK-NEXT: %[[H:.*]] = "vm.alloc_shape_heap"() {size = 2 : i64} : () -> !vm.heap
  %0 = "vm.alloc_shape_heap"() {size = 2 : i64} : () -> !vm.heap
  // CHECK-NEXT: "vm.check"(%{{.*}}) {context = "main: x", dtype = "float32", kind = "tensor", ndim = 2 : i64} : (tensor<?x4xf32>) -> ()
  "vm.check"(%x) {context = "main: x", dtype = "float32", kind = "tensor", ndim = 2 : i64} : (tensor<?x4xf32>) -> ()
  // CHECK-NEXT: "vm.store_shape"(%{{.*}}, %[[H]]) {slots = array<i64: 0, -1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  "vm.store_shape"(%x, %0) {slots = array<i64: 0, -1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  // CHECK-NEXT: "vm.store_shape"(%{{.*}}, %[[H]]) {slots = array<i64: 1>} : (i64, !vm.heap) -> ()
  "vm.store_shape"(%n, %0) {slots = array<i64: 1>} : (i64, !vm.heap) -> ()
  // CHECK-NEXT: "vm.assert_shape"(%{{.*}}, %[[H]]) {context = "main: x", slots = array<i64: 0, 1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  "vm.assert_shape"(%x, %0) {context = "main: x", slots = array<i64: 0, 1>} : (tensor<?x4xf32>, !vm.heap) -> ()
  // CHECK-NEXT: "vm.load_shape"(%[[H]]) {slots = array<i64: 1, 0>} : (!vm.heap) -> !relax.shape<2 : i64>
  %1 = "vm.load_shape"(%0) {slots = array<i64: 1, 0>} : (!vm.heap) -> !relax.shape<2 : i64>
  // CHECK-NEXT: "vm.load_shape"(%[[H]]) {slots = array<i64: 1>} : (!vm.heap) -> i64
  %2 = "vm.load_shape"(%0) {slots = array<i64: 1>} : (!vm.heap) -> i64
  return %1, %2 : !relax.shape<2 : i64>, i64
}
