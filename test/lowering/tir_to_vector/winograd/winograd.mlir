// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --pack-winograd --lower-tir --split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-threads=2" --legalize-ops --pack-winograd --lower-tir --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --pack-winograd --lower-tir --split-input-file | FileCheck %s --check-prefix=FAR

!X = tensor<1x64x28x28xf32>
!W = tensor<64x64x3x3xf32>

// Rows of an image are transposed to vectors of channels, columns transformed in place, and rows to
// the operand of the GEMMs. Each of 36 GEMMs sums 16 channels at a time. Sums are transformed back,
// multiplied by zero to test whether they are finite, and transposed to rows. Weights that L2 does not
// hold are prefetched for the next GEMM.

// CHECK-LABEL: func.func private @conv2d_winograd(
// CHECK-SAME: %[[X:arg0]]: memref<1x64x28x28xf32>{{.*}}%[[W:arg1]]: memref<64x64x3x3xf32>{{.*}}%[[U:arg2]]: memref<72x64x32xf32>
// CHECK-DAG: %[[IMAGE:.*]] = memref.collapse_shape %[[X]]
// CHECK-DAG: %[[KERNELS:.*]] = memref.collapse_shape %[[U]]
// CHECK-DAG: %[[AGAIN:.*]] = memref.alloca() {{.*}}xindex>
// CHECK-NOT: Padded
// CHECK: %[[TILES:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: %[[ROWS:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: vector.maskedload %[[IMAGE]]
// CHECK: vector.shuffle
// CHECK: vector.store {{.*}}, %[[ROWS]]
// CHECK: vector.load %[[ROWS]]
// CHECK: vector.fma
// CHECK: vector.store {{.*}}, %[[ROWS]]
// CHECK: vector.load %[[ROWS]]
// CHECK: vector.fma
// CHECK: vector.store {{.*}}, %[[TILES]]
// CHECK: vector.load %[[KERNELS]]
// CHECK: [[ONE:%.*]] = memref.load %[[TILES]]
// CHECK: vector.broadcast [[ONE]] : f32 to vector<16xf32>
// CHECK: vector.store {{.*}}, %[[SUMS]]
// CHECK: vector.load %[[SUMS]]
// CHECK: vector.shuffle
// CHECK: vector.maskedstore
// CHECK: vector.reduction <add>
// CHECK: memref.store {{.*}}, %[[AGAIN]]
// Direct sums of what is not finite.
// CHECK: [[FLAG:%.*]] = memref.load %[[AGAIN]]
// CHECK: [[BAD:%.*]] = arith.cmpi ne, [[FLAG]]
// CHECK: scf.if [[BAD]]
// CHECK: vector.fma
// CHECK: return
// FAR-LABEL: func.func private @conv2d_winograd(
// FAR: scf.for {{.*}} to %c36
// FAR: memref.prefetch {{.*}}, read, locality<2>
// FAR: vector.fma
func.func @static(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  return %0 : !X
}

// -----

!X = tensor<?x?x?x64xf32, #relax.dims<["h", "n", "w"], affine_map<()[s0, s1, s2] -> (s1, s0, s2, 64)>>>
!W = tensor<3x3x64x64xf32>

// With dynamic sizes, run time chooses direct convolution or a tile size. Products are written once,
// transforms for both sizes. NHWC needs no transpose.

// CHECK-LABEL: func.func private @conv2d_winograd(
// CHECK: %[[AGAIN:.*]] = memref.alloca() {{.*}}xindex>
// CHECK: [[PAYS:%.*]] = arith.cmpi slt
// CHECK: [[SMALL:%.*]] = arith.cmpi sle
// CHECK: scf.if [[PAYS]]
// CHECK: arith.select [[SMALL]], %c2, %c4
// CHECK: vector.load
// CHECK-NOT: vector.shuffle
// CHECK: scf.if [[SMALL]]
// CHECK-NOT: vector.shuffle
// CHECK: memref.load %[[AGAIN]]
// Small images always go this way: its tiles are whole ones.
// CHECK-COUNT-28: vector.fma
// CHECK: return
// What threads share is decided then, too.
// TWO-LABEL: func.func @sizes(
// TWO: func.func private @conv2d_winograd(
// TWO: omp.parallel
// TWO: [[RUNS:%.*]] = arith.cmpi sge, [[MANY:%.*]], {{.*}}
// TWO: arith.muli {{.*}}, [[MANY]]
// TWO: arith.select [[RUNS]], {{.*}}, %c0
// TWO: arith.select [[RUNS]], {{.*}}, [[MANY]]
// TWO: arith.select {{.*}}, %c0
// TWO: arith.select {{.*}}, %c2
func.func @sizes(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, data_layout = "NHWC", kernel_layout = "HWIO"} : (!X, !W) -> !X
  return %0 : !X
}

// -----

!X = tensor<1x64x56x56xf32>
!W = tensor<64x64x3x3xf32>

// Threads share runs of tiles where each transforms enough of them to make up for reading all kernels:
// with two panels each would transform the whole image.

// TWO-LABEL: func.func @shared(
// TWO: func.func private @conv2d_winograd(
// TWO: omp.parallel
// TWO: arith.muli {{.*}}, %c14
// TWO: [[FIRST:%.*]] = arith.select {{.*}}, %c14
// TWO: [[LAST:%.*]] = arith.select {{.*}}, %c14
// TWO: scf.for {{.*}} = [[FIRST]] to [[LAST]] step
// TWO: scf.for {{.*}} = %c0 to %c2 step
func.func @shared(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>} : (!X, !W) -> !X
  return %0 : !X
}
