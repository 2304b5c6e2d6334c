// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,DOT
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,AMX
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,PAIRS
// RUN: relax-opt %s --target="llvm -mtriple=aarch64-linux-gnu" --legalize-ops --symbol-dce --lower-tir | FileCheck %s --check-prefixes=ALL,PLAIN

!S = tensor<48x65xi8>
!T = tensor<65x32xi8>
!P = tensor<48x32xi32>
!X = tensor<48x65xbf16>
!Y = tensor<65x32xbf16>
!Z = tensor<48x32xf32>

// Signed bytes with signed ones: B is packed with flipped sign bits, and the sums of a row start from
// the correction.

// With AMX the kernel requests the registers: two of rows and two of columns.

// ALL-LABEL: func.func private @matmul(
// AMX: %[[ANSWER:.*]] = call @syscall(
// AMX: %[[ALLOWED:.*]] = arith.cmpi eq, %[[ANSWER]]
// AMX: "tir.assert"(%[[ALLOWED]])
// AMX: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// AMX: scf.for
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbssd"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// AMX: llvm.call_intrinsic "llvm.x86.tilerelease"
// DOT: %[[TURN:.*]] = arith.constant dense<-2139062144> : vector<16xi32>
// DOT: %[[TURNED:.*]] = arith.xori %{{.*}}, %[[TURN]]
// DOT: vector.store %[[TURNED]]
// DOT: vector.reduction <add>
// DOT: scf.for
// DOT: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// PAIRS: arith.extsi %{{.*}} : vector<8xi8> to vector<8xi16>
// PAIRS: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}, %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// PAIRS-NEXT: arith.addi
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN: arith.extsi %{{.*}} : vector<4xi8> to vector<4xi32>
// PLAIN: arith.muli %{{.*}} : vector<4xi32>
func.func @bytes(%x: !S, %y: !T) -> !P attributes {relax.function} {
  %0 = "relax.matmul"(%x, %y) {out_dtype = "int32"} : (!S, !T) -> !P
  return %0 : !P
}

// ALL-LABEL: func.func private @matmul1(
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// PAIRS-NOT: llvm.call_intrinsic
// PAIRS: vector.fma
// PLAIN-NOT: llvm.call_intrinsic
// PLAIN: arith.extf %{{.*}} : vector<4xbf16> to vector<4xf32>
// PLAIN: vector.fma %{{.*}} : vector<4xf32>
func.func @halves(%x: !X, %y: !Y) -> !Z attributes {relax.function} {
  %0 = "relax.matmul"(%x, %y) {out_dtype = "float32"} : (!X, !Y) -> !Z
  return %0 : !Z
}
