// RUN: relax-opt %s --legalize-ops --split-input-file | FileCheck %s

!X = tensor<3x8xf16>
!P = tensor<8xf16>

// Half precision is summed in single precision.

// CHECK-LABEL: func.func @plain(
// CHECK: "relax.call_tir"{{.*}}callee = @layer_norm
// CHECK-LABEL: func.func private @layer_norm
// CHECK: memref.alloc() {{.*}}tir.name = "Total"{{.*}} : memref<3xf32>
// CHECK: block_name = "total"
// CHECK: block_name = "spread"
// CHECK: math.rsqrt
// CHECK: block_name = "layer_norm"
func.func @plain(%x: !X, %p: !P) -> !X attributes {relax.function} {
  %y = "relax.layer_norm"(%x, %p, %p) : (!X, !P, !P) -> !X
  return %y : !X
}

// -----

// Batch normalisation is written out; in training the statistics are those of the batch.

!X = tensor<3x8xf32>
!P = tensor<8xf32>
!B = tuple<!X, !P, !P>

// CHECK-LABEL: func.func @inference
// CHECK-NOT: callee = @mean
// CHECK: callee = @multiply
// CHECK: return
func.func @inference(%x: !X, %p: !P) -> !X attributes {relax.function} {
  %b = "relax.batch_norm"(%x, %p, %p, %p, %p) {training = false} : (!X, !P, !P, !P, !P) -> !B
  %y = "relax.tuple_get_item"(%b) {index = 0} : (!B) -> !X
  return %y : !X
}

// CHECK-LABEL: func.func @training
// CHECK-COUNT-2: callee = @mean
// CHECK: return
func.func @training(%x: !X, %p: !P) -> !B attributes {relax.function} {
  %b = "relax.batch_norm"(%x, %p, %p, %p, %p) : (!X, !P, !P, !P, !P) -> !B
  return %b : !B
}

// -----

// CHECK-LABEL: func.func @unknown
// CHECK: "relax.call_pure_packed"({{.*}}) {func = "vm.op.batch_norm"
// CHECK-SAME: -> tuple<tensor<*xf32>, tensor<?xf32>, tensor<?xf32>>
func.func @unknown(%x: tensor<*xf32>, %p: tensor<?xf32>) -> tuple<tensor<*xf32>, tensor<?xf32>, tensor<?xf32>> attributes {relax.function} {
  %b = "relax.batch_norm"(%x, %p, %p, %p, %p) : (tensor<*xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tuple<tensor<*xf32>, tensor<?xf32>, tensor<?xf32>>
  return %b : tuple<tensor<*xf32>, tensor<?xf32>, tensor<?xf32>>
}
