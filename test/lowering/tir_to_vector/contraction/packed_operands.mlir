// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --lower-tir --split-input-file | FileCheck %s

!X = tensor<1x200xi8>
!W = tensor<200x256xi8>
!Y = tensor<1x256xi32>

// A row of signed bytes is copied, with the correction that its sums start from; then four panels are
// read side by side, their sign bits flipped in registers.

// CHECK: func.func private @matmul_packed(
// CHECK: vector.reduction <add>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[LINE:.*]] = vector.load %{{.*}} : memref<51200xi8>, vector<64xi8>
// CHECK-NEXT: %[[GROUPS:.*]] = vector.bitcast %[[LINE]] : vector<64xi8> to vector<16xi32>
// CHECK-NEXT: %[[TURNED:.*]] = arith.xori %[[GROUPS]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK: memref.prefetch
func.func @row(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<3> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<48x200xf16>
!W = tensor<200x256xf16>
!Y = tensor<48x256xf32>

// float16 panels that many rows share are widened once.

// CHECK: func.func private @matmul(%{{.*}}: memref<48x200xf16>{{.*}}, %{{.*}}: memref<200x256xf16>
// CHECK: %[[LINE:.*]] = vector.load %{{.*}} : memref<51200xf16>, vector<16xf16>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[LINE]]
// CHECK: vector.store %[[WIDE]]
// CHECK: vector.fma
// CHECK-NOT: vector<16xf16> to
func.func @tiles(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype = "float32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<1x200xf32>
!W = tensor<200x256xi8>
!F = tensor<200x256xf32>
!S = tensor<256xf32>
!Y = tensor<1x256xf32>

// What bytes stand for is computed as their panels are read: the product by a scale for each column
// is in the loop of the reduction, and nothing of it in memory.

// CHECK: func.func private @matmul_packed(%{{.*}}: memref<1x200xf32>{{.*}}, %{{.*}}: memref<8x200x32xi8>{{.*}}, %{{.*}}: memref<256xf32>
// CHECK-NOT: memref.alloc(
// CHECK: %[[LINE:.*]] = vector.load %{{.*}} : memref<51200xi8>, vector<16xi8>
// CHECK-NEXT: %[[NUMBER:.*]] = arith.sitofp %[[LINE]] : vector<16xi8> to vector<16xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[NUMBER]]
// CHECK: vector.fma %{{.*}}, %[[SCALED]]
func.func @dequantised(%x: !X, %s: !S) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<3> : !W} : () -> !W
  %0 = "relax.astype"(%w) {dtype = "float32"} : (!W) -> !F
  %1 = "relax.multiply"(%0, %s) : (!F, !S) -> !F
  %2 = "relax.matmul"(%x, %1) : (!X, !F) -> !Y
  return %2 : !Y
}

// -----

!X = tensor<1x256xf32>
!W = tensor<4x64x256xi8>
!F = tensor<4x64x256xf32>
!S = tensor<4x1x256xf32>
!M = tensor<256x256xf32>
!Y = tensor<1x256xf32>

// int4 numbers are two in a byte, half a group apart: a byte is read once for both. Scales are loaded
// before the loop over a group's bytes.

// CHECK: func.func private @matmul_packed(%{{.*}}: memref<1x256xf32>{{.*}}, %{{.*}}: memref<8x128x32xi8>{{.*}}, %{{.*}}: memref<4x1x256xf32>
// CHECK-NOT: memref.alloc(
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4
// CHECK: scf.for %{{.*}} = %{{.*}} to %c32
// CHECK: vector.load %{{.*}} : memref<32768xi8>, vector<16xi8>
// CHECK: arith.andi
// CHECK: arith.sitofp %{{.*}} : vector<16xi8> to vector<16xf32>
// CHECK: vector.fma
func.func @groups(%x: !X, %s: !S) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<3> : !W} : () -> !W
  %0 = "relax.astype"(%w) {dtype = "float32"} : (!W) -> !F
  %1 = "relax.multiply"(%0, %s) : (!F, !S) -> !F
  %d = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (256, 256)>>>
  %2 = "relax.reshape"(%1, %d) : (!F, !relax.shape<#relax.dims<[], affine_map<() -> (256, 256)>>>) -> !M
  %3 = "relax.matmul"(%x, %2) : (!X, !M) -> !Y
  return %3 : !Y
}

// -----

!X = tensor<100x768xf32>
!W = tensor<768x768xf32>

// Blocks of two panels: each step of a tile prefetches a part of the next block into L2, beside the
// lines of its own panel. After the last block that is the block itself.

// CHECK: func.func private @matmul_packed(
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[END:.*]] step %c96
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[LAST]]
// CHECK: arith.select %[[MORE]]
// CHECK: memref.prefetch %{{.*}}, read, locality<3>
// CHECK: memref.prefetch %{{.*}}, read, locality<2>
// CHECK: vector.fma
func.func @blocks(%x: !X) -> !X attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (!X, !W) -> !X
  return %0 : !X
}
