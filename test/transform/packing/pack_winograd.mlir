// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --pack-winograd --symbol-dce --split-input-file | FileCheck %s

!X = tensor<1x64x28x28xf32>
!W = tensor<64x64x3x3xf32>

// The kernel gets panels of transformed kernels beside the original ones, which it says it reads.

// CHECK-LABEL: func.func @transformed
// CHECK-DAG: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<64x64x3x3xf32>
// CHECK-DAG: %[[U:.*]] = "relax.constant"() {{.*}} -> tensor<72x64x32xf32>
// CHECK: builtin.unrealized_conversion_cast %{{.*}}, %[[W]], %[[U]]
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:conv2d_relu_winograd]]}
func.func @transformed(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  %1 = "relax.relu"(%0) : (!X) -> !X
  return %1 : !X
}

// CHECK: func.func private @[[KERNEL]](%{{.*}}: memref<1x64x28x28xf32>{{.*}}, %{{.*}}: memref<64x64x3x3xf32>{{.*}}, %[[P:.*]]: memref<72x64x32xf32>
// CHECK: "tir.reads"(%[[P]]) {map}
// CHECK: annotations = {tir.winograd = array<i64: 4, 32>}, block_name = "conv2d"

// -----

!X = tensor<?x96x?x?xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, 96, s0, s2)>>>
!W = tensor<96x48x3x3xf32>

// Sizes of the image may be known at run time only; groups have panels of their own.

// CHECK-LABEL: func.func @groups
// CHECK: "relax.constant"() {{.*}} -> tensor<{{[0-9]+}}x48x{{.*}}xf32>
func.func @groups(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 2} : (!X, !W) -> !X
  return %0 : !X
}

// -----

!X = tensor<1x3x28x28xf32>
!W = tensor<64x3x3x3xf32>
!Y = tensor<1x64x28x28xf32>

// With few input channels transforms would take longer than the sums.

// CHECK-LABEL: func.func @few
// CHECK-NOT: winograd
func.func @few(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<1x512x7x7xf32>
!W = tensor<512x512x3x3xf32>

// With few pixels it is the kernels that take time to read, and transformed there are more of them.

// CHECK-LABEL: func.func @deep
// CHECK-NOT: winograd
func.func @deep(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  return %0 : !X
}

// -----

!X = tensor<1x64x28x28xf32>
!W = tensor<64x64x3x3xf32>
!Y = tensor<1x64x14x14xf32>

// Windows that leave pixels out, and kernels that are not finite, or not constant, stay.

// CHECK-LABEL: func.func @strided
// CHECK-NOT: winograd
func.func @strided(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2>} : (!X, !W) -> !Y
  return %0 : !Y
}

func.func @infinite(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0x7F800000> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  return %0 : !X
}

func.func @given(%x: !X, %w: !W) -> !X attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  return %0 : !X
}
