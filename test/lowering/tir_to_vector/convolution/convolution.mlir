// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir -split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --lower-tir -split-input-file | FileCheck %s --check-prefix=V3

// A convolution reads a copy of its image that has the padding: rows of all channels, one after the
// other. A tile has 28 pixels of 32 output channels in registers, and turns them to rows as it stores.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-SAME: %[[X:arg0]]: memref<1x4x7x7xf32>
// CHECK: %[[IMAGE:.*]] = memref.collapse_shape %[[X]]
// CHECK-NOT: Padded
// CHECK: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.store {{.*}}, %[[COPY]]
// CHECK: [[ROW:%.*]] = vector.maskedload %[[IMAGE]]
// CHECK: vector.store [[ROW]], %[[COPY]]
// CHECK: [[PIXEL:%.*]] = memref.load %[[COPY]]
// CHECK: [[LANES:%.*]] = vector.broadcast [[PIXEL]] : f32 to vector<16xf32>
// CHECK: vector.fma [[LANES]], {{.*}} : vector<16xf32>
// CHECK: vector.shuffle
// CHECK: vector.maskedstore
func.func @image(%x: tensor<1x4x7x7xf32>, %w: tensor<2x3x4x3x16xf32>) -> tensor<1x32x5x7xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 0, 1>, kernel_layout = "OHIW16o"} : (tensor<1x4x7x7xf32>, tensor<2x3x4x3x16xf32>) -> tensor<1x32x5x7xf32>
  return %y : tensor<1x32x5x7xf32>
}

// -----

// With channels last the sums are stored as they are.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: vector.fma
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @last(%x: tensor<1x7x7x4xf32>, %w: tensor<2x3x4x3x16xf32>) -> tensor<1x5x5x32xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "OHIW16o"} : (tensor<1x7x7x4xf32>, tensor<2x3x4x3x16xf32>) -> tensor<1x5x5x32xf32>
  return %y : tensor<1x5x5x32xf32>
}

// -----

// Rows of unknown length have a tile for what is whole and what is not, and ones of three quarters and
// of half the pixels for short ends. Pixels that are there anyway are stored without asking, each with
// all its channels.

#wide = #relax.dims<["w"], affine_map<()[s0] -> (1, 9, s0, 4)>>
#high = #relax.dims<["w"], affine_map<()[s0] -> (1, 7, s0, 32)>>
// CHECK-LABEL: func.func private @conv2d(
// CHECK: [[LONG:%.*]] = arith.cmpi sgt, {{.*}}, %c11
// CHECK: scf.if [[LONG]] {
// CHECK-COUNT-28: vector.fma
// CHECK-COUNT-24: vector.store
// CHECK: [[LAST:%.*]] = arith.cmpi slt, %c12, 
// CHECK-NEXT: scf.if [[LAST]] {
// CHECK-COUNT-2: vector.store
// CHECK-NEXT: }
// CHECK: } else {
// CHECK: [[MORE:%.*]] = arith.cmpi sgt, {{.*}}, %c7
// CHECK: scf.if [[MORE]] {
// CHECK-COUNT-22: vector.fma
// CHECK-COUNT-16: vector.store
// CHECK: [[NINTH:%.*]] = arith.cmpi slt, %c8, 
// CHECK-NEXT: scf.if [[NINTH]] {
// CHECK-COUNT-2: vector.store
// CHECK-NEXT: }
// CHECK: } else {
// CHECK-COUNT-14: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
func.func @any_length(%x: tensor<1x9x?x4xf32, #wide>, %w: tensor<2x3x4x3x16xf32>) -> tensor<1x7x?x32xf32, #high> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", padding = array<i64: 0, 1>, kernel_layout = "OHIW16o"} : (tensor<1x9x?x4xf32, #wide>, tensor<2x3x4x3x16xf32>) -> tensor<1x7x?x32xf32, #high>
  return %y : tensor<1x7x?x32xf32, #high>
}

// -----

// No window sees two sequences of a batch: each is copied by itself, a range of its elements at a time.

#sequences = #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 40, s1)>>
#sums = #relax.dims<["n", "w"], affine_map<()[s0, s1] -> (s0, 32, s1)>>
// CHECK-LABEL: func.func private @conv1d(
// CHECK: [[BAND:%.*]] = arith.minsi
// CHECK: %[[COPY:.*]] = memref.alloc({{.*}} : memref<?xf32>
// CHECK: scf.for %[[N:[^ ]*]] = %c0 to {{.*}} step %c1 {
// CHECK-NEXT: scf.for {{.*}} step [[BAND]] {
// CHECK: vector.fma
func.func @sequences(%x: tensor<?x40x?xf32, #sequences>, %w: tensor<2x40x3x16xf32>) -> tensor<?x32x?xf32, #sums> attributes {relax.function} {
  %y = "relax.conv1d"(%x, %w) {padding = array<i64: 1>, kernel_layout = "OIW16o"} : (tensor<?x40x?xf32, #sequences>, tensor<2x40x3x16xf32>) -> tensor<?x32x?xf32, #sums>
  return %y : tensor<?x32x?xf32, #sums>
}

// -----

// Depthwise convolution reads planes in place, with masks for padding; a row that two rows of outputs
// share is loaded once. With a stride the pixels to the left are those to the right, shifted by a
// lane. The next row's address follows from the last. What is around the image is added in a branch.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: memref.alloc
// CHECK-DAG: [[EDGE:%.*]] = arith.constant dense<true> : vector<16xi1>
// CHECK-DAG: [[AROUND:%.*]] = llvm.inline_asm
// CHECK: scf.for {{.*}} to %c10 step %c5
// CHECK: [[ABOVE:%.*]] = arith.cmpi slt, %c-1,
// CHECK: scf.if [[ABOVE]]
// CHECK: vector.maskedload [[IMAGE:%[0-9a-z_]+]]{{.*}}, [[EDGE]],
// CHECK: [[RIGHT:%.*]] = vector.shuffle {{.*}} [1, 3, 5, 7,
// CHECK: [[BITS:%.*]] = vector.bitcast [[RIGHT]]
// CHECK: vector.shuffle [[BITS]], [[AROUND]] [31, 0, 1, 2,
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6,
// CHECK: } else {
// CHECK: arith.addi {{.*}}, %c19
// CHECK: vector.maskedload [[IMAGE]]{{.*}}, [[EDGE]],
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7,
// CHECK: vector.fma
// CHECK-COUNT-5: vector.maskedstore
func.func @planes(%x: tensor<1x8x19x19xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, strides = array<i64: 2>, groups = 8} : (tensor<1x8x19x19xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}

// -----

// Two short rows of outputs, half a tile apart, fill a vector: their pixels come from two rows.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} to %c32 step %c1
// CHECK-NOT: scf.for
// CHECK: [[BELOW:%.*]] = vector.maskedload
// CHECK: vector.shuffle [[NONE:%.*]], [[BELOW]] [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK-COUNT-36: vector.fma
// CHECK-NOT: vector.fma
// CHECK-COUNT-7: vector.maskedstore
// CHECK-NOT: vector.maskedstore
func.func @short_rows(%x: tensor<1x32x7x7xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32} : (tensor<1x32x7x7xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32>
  return %y : tensor<1x32x7x7xf32>
}

// -----

// Where sizes are unknown the kernel asks how short rows are; then all planes share a tile's masks, and
// seven rows of them need none for what is above and below. Of long rows only the ends have masks.

// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT: memref.alloc
// CHECK: [[SHORT:%.*]] = arith.cmpi sle, {{.*}}, %c8
// CHECK: [[SEVERAL:%.*]] = arith.cmpi sgt
// CHECK: [[PAIRED:%.*]] = arith.andi [[SHORT]], [[SEVERAL]]
// CHECK: scf.if [[PAIRED]]
// CHECK: [[KEPT:%.*]] = llvm.inline_asm has_side_effects "", "=^Yk,0"
// CHECK: arith.cmpi eq, {{.*}}, %c7
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c32 step %c1
// CHECK: vector.maskedload {{.*}}, [[KEPT]],
// CHECK-COUNT-7: vector.maskedstore
// CHECK: } else {
// CHECK: scf.for {{.*}} step %c8
// CHECK: arith.andi {{.*}} : vector<16xi1>
// CHECK: scf.for {{.*}} to %c32 step %c1
// CHECK-NOT: arith.andi {{.*}} : vector<16xi1>
// CHECK: } else {
// CHECK: scf.for {{.*}} step %c7
// The row above may not be there.
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: } else {
// CHECK-COUNT-7: vector.maskedstore
// CHECK: scf.for {{.*}} step %c16
// CHECK: vector.load
// CHECK-NOT: vector.create_mask
// CHECK-COUNT-7: vector.store
// CHECK: }
// CHECK-COUNT-7: vector.store
#any = #relax.dims<["h", "w"], affine_map<()[s0, s1] -> (1, 32, s0, s1)>>
func.func @any_planes(%x: tensor<1x32x?x?xf32, #any>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x?x?xf32, #any> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, groups = 32} : (tensor<1x32x?x?xf32, #any>, tensor<32x1x3x3xf32>) -> tensor<1x32x?x?xf32, #any>
  return %y : tensor<1x32x?x?xf32, #any>
}

// -----

// In NHWC pixels may conflict in cache sets: a packed input has gaps.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: [[COPY:%.*]] = memref.alloc
// CHECK: vector.store {{.*}}, [[COPY]]
// CHECK: arith.addi {{.*}}, %c272
// CHECK: vector.fma
func.func @far_pixels(%x: tensor<1x7x7x256xf32>, %w: tensor<1x1x256x1x16xf32>) -> tensor<1x7x7x16xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "OHIW16o"} : (tensor<1x7x7x256xf32>, tensor<1x1x256x1x16xf32>) -> tensor<1x7x7x16xf32>
  return %y : tensor<1x7x7x16xf32>
}

// -----

// A 1 x 1 convolution with few output channels is a GEMM: rows of pixels are read in place, some
// planes at a time.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: scf.for {{.*}} to %c64 step %c8
// CHECK-COUNT-16: memref.load
// CHECK: scf.for {{.*}} step %c16
// CHECK-COUNT-16: vector.fma
func.func @few_outputs(%x: tensor<1x64x32x32xf32>, %w: tensor<2x64x1x1xf32>) -> tensor<1x2x32x32xf32> attributes {relax.function} {
  %y = "relax.conv2d"(%x, %w) : (tensor<1x64x32x32xf32>, tensor<2x64x1x1xf32>) -> tensor<1x2x32x32xf32>
  return %y : tensor<1x2x32x32xf32>
}

// -----

// Weights come from memory: each of seven tiles of 28 pixels prefetches a share of those of the next two
// blocks of channels into L2, five elements with each step. On AVX2 a block is two
// registers.

// CHECK-LABEL: func.func private @conv2d(
// CHECK: scf.for [[BLOCK:%.*]] = %c0 to %c8 step %c2
// CHECK: [[MORE:%.*]] = arith.cmpi slt
// CHECK: arith.select [[MORE]], %c2048, %c0
// CHECK: memref.prefetch {{.*}}, read, locality<2>
// CHECK: vector.fma
// V3-LABEL: func.func @blocks
// V3: scf.for [[BLOCK:%.*]] = %c0 to %c16 step %c2
// V3: arith.select {{.*}}, %c1024, %c0
// V3: memref.prefetch {{.*}}, read, locality<2>
// V3: vector.fma
func.func @blocks(%x: tensor<1x64x14x14xf32>, %w: tensor<8x1x64x1x16xf32>) -> tensor<1x128x14x14xf32> attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {kernel_layout = "OHIW16o"} : (tensor<1x64x14x14xf32>, tensor<8x1x64x1x16xf32>) -> tensor<1x128x14x14xf32>
  return %0 : tensor<1x128x14x14xf32>
}
