// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4" --legalize-ops --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver3" --legalize-ops --lower-tir | FileCheck %s --check-prefix=NEAR
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server" --legalize-ops --lower-tir | FileCheck %s --check-prefix=WIDE

// Rows from memory are prefetched into L2, some kilobytes ahead, while functions are computed. The
// exponentials of a softmax are in a buffer of two rows: a row is stored non-temporally in the loop
// that computes the next row's exponentials.

func.func @f(%x: tensor<4096x1024xf32>) -> tensor<4096x1xf32> attributes {relax.function} {
  %0 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %1 = "relax.log_softmax"(%0) {axis = 1 : i64} : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %2 = "relax.variance"(%1) {axis = array<i64: 1>, keepdims = true} : (tensor<4096x1024xf32>) -> tensor<4096x1xf32>
  return %2 : tensor<4096x1xf32>
}

// CHECK-LABEL: func.func private @softmax(
// CHECK: %[[ROWS:.*]] = memref.alloc() {{.*}} : memref<2048xf32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c4096 step %c1 {
// CHECK: %[[BEFORE:.*]] = arith.subi %[[ROW]], %c1
// CHECK: arith.maxsi %[[BEFORE]], %c0
// CHECK: scf.for {{.*}} step %c64 {{.*}} -> (vector<64xf32>) {
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data
// CHECK: math.exp {{.*}} : vector<64xf32>
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: vector.store {{.*}}, %[[ROWS]][
// CHECK: vector.load %[[ROWS]][
// CHECK: vector.store {{.*}}nontemporal = true
// CHECK: scf.yield
// CHECK: vector.store {{.*}}nontemporal = true{{.*}} vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()

// What only the sum reads is in no memory.
// CHECK-LABEL: func.func private @log_softmax(
// CHECK-NOT: memref.alloc()
// CHECK: math.exp {{.*}} : vector<64xf32>
// CHECK-NOT: vector.store {{.*}} : memref
// CHECK: vector.store {{.*}}nontemporal = true

// CHECK-LABEL: func.func private @variance(
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data

// Rows that the last of the caches may hold are written twice, and fetched into L2 before.
// NEAR-LABEL: func.func private @softmax(
// NEAR-NOT: nontemporal
// NEAR: memref.prefetch {{.*}}, read, locality<2>, data
// NEAR: math.exp {{.*}} : vector<32xf32>
// NEAR: memref.prefetch {{.*}}, write
// NEAR-NOT: nontemporal
// NEAR-LABEL: func.func private @variance(
// NEAR: memref.prefetch {{.*}}, read, locality<2>, data

// Loads of whole lines from the last of the caches are not prefetched.
// WIDE-LABEL: func.func private @softmax(
// WIDE-NOT: memref.prefetch
// WIDE: math.exp {{.*}} : vector<64xf32>
// WIDE-NOT: memref.prefetch

// Images joined by channel are one row: no other follows.

#a = #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 64, s0, s1)>>
#b = #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 192, s0, s1)>>
!A = tensor<1x64x?x?xf32, #a>
!B = tensor<1x192x?x?xf32, #b>
!P = tuple<!A, !A, !A>

// CHECK-LABEL: func.func private @concat(
// CHECK-NOT: memref.prefetch
// CHECK: vector.store
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @one(%a: !A, %b: !A, %c: !A) -> !B attributes {relax.function} {
  %p = builtin.unrealized_conversion_cast %a, %b, %c : !A, !A, !A to !P
  %x = "relax.concat"(%p) {axis = 1 : i64} : (!P) -> !B
  return %x : !B
}
