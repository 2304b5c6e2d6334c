// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @storage(
func.func @storage(%bytes: !relax.shape<1 : i64>, %shape: !relax.shape<2 : i64>) -> tensor<?x?xf32> {
  // CHECK-NEXT: %[[S:.*]] = "vm.alloc_storage"(%{{.*}}) {device = "cpu"} : (!relax.shape<1 : i64>) -> !vm.storage
  %0 = "vm.alloc_storage"(%bytes) {device = "cpu"} : (!relax.shape<1 : i64>) -> !vm.storage
  // CHECK-NEXT: "vm.alloc_tensor"(%[[S]], %{{.*}}) {dtype = "float32", offset = 64 : i64} : (!vm.storage, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  %1 = "vm.alloc_tensor"(%0, %shape) {dtype = "float32", offset = 64 : i64} : (!vm.storage, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  // CHECK-NEXT: "vm.kill"(%[[S]]) : (!vm.storage) -> ()
  "vm.kill"(%0) : (!vm.storage) -> ()
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @calls(
func.func @calls(%x: tensor<2xf32>, %s: !relax.shape<unit>) -> !relax.object {
  // CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // CHECK-NEXT: "vm.call"(%[[T]]) {func = "kernel"} : (tuple<tensor<2xf32>>) -> ()
  "vm.call"(%t) {func = "kernel"} : (tuple<tensor<2xf32>>) -> ()
  // CHECK-NEXT: "vm.call"(%[[T]]) {func = "lib.size"} : (tuple<tensor<2xf32>>) -> !relax.object
  %0 = "vm.call"(%t) {func = "lib.size"} : (tuple<tensor<2xf32>>) -> !relax.object
  // CHECK-NEXT: "vm.call_tir_dyn"(%[[T]], %{{.*}}) {func = "kernel"} : (tuple<tensor<2xf32>>, !relax.shape<unit>) -> ()
  "vm.call_tir_dyn"(%t, %s) {func = "kernel"} : (tuple<tensor<2xf32>>, !relax.shape<unit>) -> ()
  return %0 : !relax.object
}
