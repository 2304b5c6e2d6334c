// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake" --legalize-ops --pack-vnni --symbol-dce --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake" --legalize-ops --pack-vnni='target="llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake"' --symbol-dce --lower-tir | FileCheck %s --check-prefix=OTHER
// RUN: relax-opt %s --target="llvm -mtriple=aarch64-linux-gnu" --legalize-ops --pack-vnni='target="llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake"' --symbol-dce --lower-tir | FileCheck %s --check-prefix=PLAIN

!X = tensor<1x6x9x20xi8>
!W = tensor<40x6x3x3xi8>
!Y = tensor<1x40x9x20xi32>

// Kernels and what sums start from are read where a pass has put them; only the image is copied.

// CHECK-LABEL: func.func private @conv2d_vnni_weights(
// CHECK-SAME: %[[X:arg0]]: memref<1x6x9x20xi8>{{.*}}%[[W:arg1]]: memref<40x6x3x3xi8>{{.*}}%[[G:arg2]]: memref<3x19x16xi32>
// CHECK: %[[GROUPS:.*]] = memref.collapse_shape %[[G]]
// CHECK: memref.alloc() {{.*}}xi32>
// CHECK-NOT: memref.alloc
// CHECK: vector.load %[[GROUPS]]
// CHECK: scf.for
// CHECK: vector.load %[[GROUPS]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"

// Who has others puts the kernels into those.

// OTHER-LABEL: func.func private @conv2d_vnni_weights(
// OTHER-NOT: memref<912xi32>
// OTHER: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
// PLAIN-LABEL: func.func private @conv2d_vnni_weights(
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN: arith.muli {{.*}} : vector<4xi32>
func.func @main(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}
