// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --pack-weights --symbol-dce --split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=haswell" --legalize-ops --fuse-kernels --pack-weights --split-input-file | FileCheck %s --check-prefix=AVX2

!X = tensor<?x128xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 128)>>>
!W = tensor<128x192xf32>
!Y = tensor<?x192xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 192)>>>

// 192 columns become six panels of two vectors; what multiplies by them walks panels and their
// columns. With vectors of half the width there are twice as many panels.

// CHECK-LABEL: func.func @panels
// AVX2-LABEL: func.func @panels
// AVX2: "relax.constant"() {{.*}} -> tensor<12x128x16xf32>
// CHECK-NOT: tensor<128x192xf32>
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<6x128x32xf32>
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:matmul_relu_packed]]}
// CHECK: return
func.func @panels(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) : (!X, !W) -> !Y
  %1 = "relax.relu"(%0) : (!Y) -> !Y
  return %1 : !Y
}

// CHECK: func.func private @[[KERNEL]](%{{.*}}: memref<?x128xf32>{{.*}}, %[[P:.*]]: memref<6x128x32xf32>
// CHECK: ^bb0(%[[M:.*]]: index, %[[J:.*]]: index, %[[I:.*]]: index, %[[K:.*]]: index):
// CHECK: %[[N:.*]] = arith.addi
// CHECK: memref.load %[[P]][%[[J]], %[[K]], %[[I]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[M]], %[[N]]]

// -----

!X = tensor<?x128xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 128)>>>
!W = tensor<128x190xf32>
!Y = tensor<?x190xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 190)>>>

// 190 columns take six panels, whose last two columns are zeros. There are sums of all 192, of which
// what follows takes the first.

// CHECK-LABEL: func.func @ragged
// CHECK: "relax.constant"() {{.*}} -> tensor<6x128x32xf32>
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:matmul_packed]]}
// CHECK: func.func private @[[KERNEL]](%{{.*}}: memref<?x128xf32>{{.*}}, %[[P:.*]]: memref<6x128x32xf32>{{.*}}, %[[OUT:.*]]: memref<?x190xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc({{.*}} : memref<?x192xf32>
// CHECK: memref.load %[[P]]
// CHECK: memref.store %{{.*}}, %[[SUMS]]
// CHECK: %[[SUM:.*]] = memref.load %[[SUMS]]
// CHECK: memref.store %[[SUM]], %[[OUT]]
func.func @ragged(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) : (!X, !W) -> !Y
  return %0 : !Y
}

// -----

!X = tensor<?x2048xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 2048)>>>
!W = tensor<2048x31xf32>
!Y = tensor<?x31xf32, #relax.dims<["m"], affine_map<()[s0] -> (s0, 31)>>>

// Columns that fill no panel stay where they are.

// CHECK-LABEL: func.func @narrow
// CHECK: "relax.constant"() {{.*}} -> tensor<2048x31xf32>
// CHECK: "relax.call_tir"{{.*}}@matmul}
func.func @narrow(%x: !X) -> !Y attributes {relax.function} {
  %w = "relax.constant"() {value = dense<0.5> : !W} : () -> !W
  %0 = "relax.matmul"(%x, %w) : (!X, !W) -> !Y
  return %0 : !Y
}
