// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --fuse-kernels --pack-vnni --symbol-dce --split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2" --legalize-ops --fuse-kernels --pack-vnni --symbol-dce --split-input-file | FileCheck %s --check-prefix=NONE

!X = tensor<1x6x?x?xi8, #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 6, s0, s1)>>>
!Y = tensor<1x40x?x?xi32, #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 40, s0, s1)>>>
!W = tensor<40x6x3x3xi8>

// Two groups of four channels for each element of the window, in three blocks of 16 output channels;
// signed bytes by signed ones add what sums start from.

// CHECK-LABEL: func.func @bytes
// CHECK-DAG: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<40x6x3x3xi8>
// CHECK-DAG: %[[G:.*]] = "relax.constant"() {{.*}} -> tensor<3x19x16xi32>
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %[[W]], %[[G]]
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:conv2d_relu_vnni_weights]]
// NONE-NOT: vnni_weights
func.func @bytes(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, out_dtype = "int32"} : (!X, !W) -> !Y
  %1 = "relax.relu"(%0) : (!Y) -> !Y
  return %1 : !Y
}

// CHECK: func.func private @[[KERNEL]](%{{.*}}, %{{.*}}: memref<40x6x3x3xi8>{{.*}}, %[[P:.*]]: memref<3x19x16xi32>
// CHECK: "tir.reads"(%[[P]]) {map}
// CHECK: annotations = {tir.vnni_weights = array<i64: 16, 4, 8, 1, 1, 0, 1, 0, 40, 54, 3, 3, 3, 1, 6, 9>}

// -----

!X = tensor<1x9x20x8xbf16>
!W = tensor<2x3x3x8x16xbf16>
!Y = tensor<1x9x20x32xbf16>

// Blocks stay those they are.

// CHECK-LABEL: func.func @blocks
// CHECK: "relax.constant"() {{.*}} -> tensor<2x36x16xi32>
func.func @blocks(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, data_layout = "NHWC", kernel_layout = "OHWI16o"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<1x8x9x20xi8>
!W = tensor<32x4x3x3xi8>
!Y = tensor<1x32x9x20xi32>

// Kernels that differ between groups of channels are grouped when they are used, and so are those
// that nobody knows.

// CHECK-LABEL: func.func @groups
// CHECK-NOT: vnni_weights
func.func @groups(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 2, out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<1x8x9x20xi8>
!W = tensor<32x8x3x3xi8>
!Y = tensor<1x32x9x20xi32>

// CHECK-LABEL: func.func @given
// CHECK-NOT: vnni_weights
func.func @given(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}
