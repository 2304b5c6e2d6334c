// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --split-input-file | FileCheck %s --check-prefixes=ALL,GROUPS
// RUN: relax-opt %s --target="llvm -mtriple=aarch64-linux-gnu" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --split-input-file | FileCheck %s --check-prefixes=ALL,PLAIN
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --lower-tir --split-input-file | FileCheck %s --check-prefixes=AMX

!X = tensor<?x200xi8, #relax.dims<["m"], affine_map<()[s0] -> (s0, 200)>>>
!W = tensor<200x192xi8>
!Y = tensor<?x192xi32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 192)>>>

// Bytes are as they were; where an instruction takes four of a column, those are adjacent.
// Registers that hold matrices read 16 groups of k: zeros fill the last.

// ALL-LABEL: func.func @bytes
// GROUPS: "relax.constant"() {{.*}} -> tensor<6x50x32x4xi8>
// PLAIN: "relax.constant"() {{.*}} -> tensor<6x200x32xi8>
// GROUPS: func.func private @matmul_packed(%{{.*}}, %[[P:.*]]: memref<6x50x32x4xi8>
// GROUPS: ^bb0(%[[M:.*]]: index, %[[J:.*]]: index, %[[I:.*]]: index, %[[K:.*]]: index, %[[G:.*]]: index):
// GROUPS: memref.load %{{.*}}[%[[M]], %[[STEP:.*]]] : memref<?x200xi8>
// GROUPS: memref.load %[[P]][%[[J]], %[[K]], %[[I]], %[[G]]]
// AMX: "relax.constant"() {{.*}} -> tensor<6x64x32x4xi8>
// AMX: func.func private @matmul_packed(
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbssd"
func.func @bytes(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<3> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<?x202xf16, #relax.dims<["m"], affine_map<()[s0] -> (s0, 202)>>>
!W = tensor<202x190xf16>
!Y = tensor<?x190xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 190)>>>

// Halves that no instruction multiplies are widened by the kernel.

// ALL-LABEL: func.func @halves
// ALL: "relax.constant"() {{.*}} -> tensor<6x202x32xf16>
func.func @halves(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype = "float32"} : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<?x202xi8, #relax.dims<["m"], affine_map<()[s0] -> (s0, 202)>>>
!W = tensor<202x192xi8>
!Y = tensor<?x192xi32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 192)>>>

// Steps that do not fill groups stay where they are.

// ALL-LABEL: func.func @odd
// GROUPS: "relax.constant"() {{.*}} -> tensor<202x192xi8>
// PLAIN: "relax.constant"() {{.*}} -> tensor<6x202x32xi8>
func.func @odd(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<3> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) {out_dtype = "int32"} : (!X, !W) -> !Y
  return %0 : !Y
}
