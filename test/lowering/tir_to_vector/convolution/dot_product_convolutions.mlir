// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,DOT
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,PAIRS
// RUN: relax-opt %s --target="llvm -mtriple=aarch64-linux-gnu" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,PLAIN

!X = tensor<1x6x9x20xi8>
!W = tensor<2x3x3x6x16xi8>
!Y = tensor<1x32x9x20xi32>
!W8 = tensor<2x3x3x8x16xi8>
!P = tensor<1x5x9x20xbf16>
!Q = tensor<2x3x3x5x16xbf16>
!R = tensor<1x32x9x20xf32>

// Signed bytes by signed ones: the image's sign bits are flipped in its packed input, in groups of
// four channels, and so are the padding and the two channels that fill the last group. Weights are
// packed in the same groups, and each channel's sums start from the correction.

// ALL-LABEL: func.func private @conv2d(
// DOT-DAG: %[[TURN:.*]] = arith.constant dense<-2139062144> : vector<16xi32>
// DOT-DAG: %[[KERNELS:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xi32>
// DOT-DAG: %[[STARTS:.*]] = memref.alloc{{a?}}() {{.*}} : memref<32xi32>
// DOT-DAG: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<{{.*}}xi32>
// DOT: vector.load {{.*}} vector<64xi8>
// DOT: vector.shuffle {{.*}} [0, 16, 32, 48, 1, 17, 33, 49,
// DOT: vector.maskedload {{.*}} into vector<64xi8>
// DOT: %[[SUM:.*]] = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %{{.*}}, %{{.*}})
// DOT: arith.subi
// DOT: vector.store %{{.*}}, %[[STARTS]]
// DOT: vector.store %[[TURN]], %[[COPY]]
// DOT: %[[FOUR:.*]] = vector.bitcast %{{.*}} : vector<64xi8> to vector<16xi32>
// DOT: %[[TURNED:.*]] = arith.xori %[[FOUR]], %[[TURN]]
// DOT: vector.store %[[TURNED]], %[[COPY]]
// DOT: vector.load %[[STARTS]]
// DOT: scf.for
// DOT: memref.load %[[COPY]]
// DOT: vector.broadcast {{.*}} : i32 to vector<16xi32>
// DOT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// PAIRS: arith.extsi {{.*}} : vector<8xi8> to vector<8xi16>
// PAIRS: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"({{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// PAIRS-NEXT: arith.addi
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN: arith.extsi {{.*}} : vector<4xi8> to vector<4xi32>
// PLAIN: arith.muli {{.*}} : vector<4xi32>
func.func @bytes(%x: !X, %w: !W) -> !Y attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, kernel_layout = "OHWI16o", out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// ALL-LABEL: func.func private @conv2d1(
// DOT: vector.load {{.*}} vector<32xbf16>
// DOT: vector.shuffle {{.*}} [0, 16, 1, 17,
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// PAIRS-NOT: llvm.call_intrinsic
// PAIRS: vector.fma
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN: arith.extf {{.*}} : vector<4xbf16> to vector<4xf32>
// PLAIN: vector.fma {{.*}} : vector<4xf32>
func.func @halves(%x: !P, %w: !Q) -> !R attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, kernel_layout = "OHWI16o", out_dtype = "float32"} : (!P, !Q) -> !R
  return %0 : !R
}

// Unsigned bytes of the image go with signed ones as they are.

// ALL-LABEL: func.func private @conv2d2(
// DOT-NOT: arith.xori
// DOT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// DOT: return
func.func @unsigned(%x: tensor<1x9x20x8xui8>, %w: !W8) -> tensor<1x9x20x32xi32> attributes {relax.function} {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 1>, data_layout = "NHWC", kernel_layout = "OHWI16o", out_dtype = "int32"} : (tensor<1x9x20x8xui8>, !W8) -> tensor<1x9x20x32xi32>
  return %0 : tensor<1x9x20x32xi32>
}
