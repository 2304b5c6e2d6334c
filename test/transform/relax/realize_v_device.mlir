// RUN: relax-opt %s --realize-v-device --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = "relax.exp"(%arg0)
// CHECK-NEXT: %[[B:.*]] = "relax.to_vdevice"(%[[A]])
// CHECK-NEXT: "relax.add"(%[[B]], %[[A]])
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relax.function} {
  %0 = "relax.hint_on_device"(%x) {dst_vdevice = "llvm:0", memory_scope = "global"} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.exp"(%0) : (tensor<?xf32>) -> tensor<?xf32>
  %2 = "relax.hint_on_device"(%1) {dst_vdevice = "cpu", memory_scope = "global"} : (tensor<?xf32>) -> tensor<?xf32>
  %3 = "relax.to_vdevice"(%2) {dst_vdevice = "llvm:0"} : (tensor<?xf32>) -> tensor<?xf32>
  %4 = "relax.add"(%3, %2) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %4 : tensor<?xf32>
}

// -----

func.func @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  // expected-error@+1 {{programs run on CPUs, such as llvm:0, got device 'cuda:0'}}
  %0 = "relax.hint_on_device"(%x) {dst_vdevice = "cuda:0", memory_scope = "global"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
