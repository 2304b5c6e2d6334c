// RUN: relax-opt %s --fuse-attention --split-input-file | FileCheck %s

!X = tensor<2x77x3x8xf32>
!H = tensor<2x3x77x8xf32>
!K = tensor<2x3x8x77xf32>
!S = tensor<2x3x77x77xf32>

// As exporters write it: heads split off by transposes, the scale a constant. Nothing is left of
// the transposes but letters.

// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[Q:.*]]: tensor<2x77x3x8xf32>, %[[K:.*]]: tensor<2x77x3x8xf32>, %[[V:.*]]: tensor
// CHECK-COUNT-2: builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[A:.*]] = "relax.attention"(%[[Q]], %[[K]], %[[V]], %{{[^,]*}}, %{{[^,]*}}) {
// CHECK-SAME: layout = "BSNH", scale = 2.500000e-01 : f64
// CHECK-SAME: zero_unseen = false
// CHECK-NEXT: return %[[A]]
func.func @transposed(%q: !X, %k: !X, %v: !X) -> !X attributes {relax.function} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %half = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.permute_dims"(%q) {axes = array<i64: 0, 2, 1, 3>} : (!X) -> !H
  %1 = "relax.permute_dims"(%k) {axes = array<i64: 0, 2, 3, 1>} : (!X) -> !K
  %2 = "relax.permute_dims"(%v) {axes = array<i64: 0, 2, 1, 3>} : (!X) -> !H
  %3 = "relax.multiply"(%0, %half) : (!H, tensor<f32>) -> !H
  %4 = "relax.matmul"(%3, %1) : (!H, !K) -> !S
  %5 = "relax.divide"(%4, %two) : (!S, tensor<f32>) -> !S
  %6 = "relax.softmax"(%5) {axis = -1 : i64} : (!S) -> !S
  %7 = "relax.matmul"(%6, %2) : (!S, !H) -> !H
  %8 = "relax.permute_dims"(%7) {axes = array<i64: 0, 2, 1, 3>} : (!H) -> !X
  return %8 : !X
}

// -----

!H = tensor<2x3x77x8xf32>
!K = tensor<2x3x8x77xf32>
!S = tensor<2x3x77x77xf32>
!M = tensor<77x77xf32>

// A mask of fewer dimensions, and keys that come transposed.

// CHECK-LABEL: func.func @masked(
// CHECK: %[[M:.*]] = "relax.expand_dims"(%{{.*}}) {axis = array<i64: 0, 1>}
// CHECK: "relax.attention"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[M]], %{{[^,]*}})
// CHECK-SAME: layout = "BNSH,BNHS,BNSH,BNSH", scale = 1.000000e+00 : f64
// CHECK-NOT: relax.softmax
func.func @masked(%q: !H, %k: !K, %v: !H, %m: !M) -> !H attributes {relax.function} {
  %0 = "relax.matmul"(%q, %k) : (!H, !K) -> !S
  %1 = "relax.add"(%m, %0) : (!M, !S) -> !S
  %2 = "relax.softmax"(%1) {axis = 3 : i64} : (!S) -> !S
  %3 = "relax.matmul"(%2, %v) : (!S, !H) -> !H
  return %3 : !H
}

// -----

!Q = tensor<6x?x8xf16, #relax.dims<["n"], affine_map<()[s0] -> (6, s0, 8)>>>
!K = tensor<6x?x8xf16, #relax.dims<["m"], affine_map<()[s0] -> (6, s0, 8)>>>
!T = tensor<6x8x?xf16, #relax.dims<["m"], affine_map<()[s0] -> (6, 8, s0)>>>
!S = tensor<6x?x?xf16, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (6, s1, s0)>>>

// Three dimensions, of symbolic lengths.

// CHECK-LABEL: func.func @three(
// CHECK: "relax.attention"
// CHECK-SAME: layout = "BSH"
func.func @three(%q: !Q, %k: !K) -> !Q attributes {relax.function} {
  %0 = "relax.permute_dims"(%k) {axes = array<i64: 0, 2, 1>} : (!K) -> !T
  %1 = "relax.matmul"(%q, %0) : (!Q, !T) -> !S
  %2 = "relax.softmax"(%1) {axis = -1 : i64} : (!S) -> !S
  %3 = "relax.matmul"(%2, %k) : (!S, !K) -> !Q
  return %3 : !Q
}

// -----

!H = tensor<2x3x77x8xf32>
!K = tensor<2x3x8x77xf32>
!S = tensor<2x3x77x77xf32>

// What somebody else uses is computed as it was.

// CHECK-LABEL: func.func @used(
// CHECK-NOT: relax.attention
func.func @used(%q: !H, %k: !K, %v: !H) -> (!H, !S) attributes {relax.function} {
  %0 = "relax.matmul"(%q, %k) : (!H, !K) -> !S
  %1 = "relax.softmax"(%0) {axis = -1 : i64} : (!S) -> !S
  %2 = "relax.matmul"(%1, %v) : (!S, !H) -> !H
  return %2, %1 : !H, !S
}

// A softmax over the queries is something else.

// CHECK-LABEL: func.func @other_axis(
// CHECK-NOT: relax.attention
func.func @other_axis(%q: !H, %k: !K, %v: !H) -> !H attributes {relax.function} {
  %0 = "relax.matmul"(%q, %k) : (!H, !K) -> !S
  %1 = "relax.softmax"(%0) {axis = 2 : i64} : (!S) -> !S
  %2 = "relax.matmul"(%1, %v) : (!S, !H) -> !H
  return %2 : !H
}

// -----

!Q = tensor<2x6x16x8xf16>
!K = tensor<2x2x16x8xf16>
!K5 = tensor<2x2x1x16x8xf16>
!W5 = tensor<2x2x3x16x8xf16>
!T = tensor<2x6x8x16xf16>
!S = tensor<2x6x16x16xf16>
!F = tensor<2x6x16x16xf32>
!B = tensor<16x16xi1>

// Heads that are repeated for their groups, a window told by numbers, a softmax in wider numbers.

// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x6x16x8xf16>, %[[K:[^:]*]]: tensor<2x2x16x8xf16>, %[[V:[^:]*]]: tensor
// CHECK: "relax.attention"(%[[Q]], %[[K]], %[[V]], %{{[^,]*}}, %{{[^,]*}})
// CHECK-SAME: causal_mask = "BottomRight"
// CHECK-SAME: window_size = 4
// CHECK-NEXT: return
func.func @grouped(%q: !Q, %k: !K, %v: !K) -> !Q attributes {relax.function} {
  %lowest = "relax.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %four = "relax.constant"() {value = dense<4> : tensor<i64>} : () -> tensor<i64>
  %shape = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (2, 2, 3, 16, 8)>>>
  %merged = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (2, 6, 16, 8)>>>
  %keys = "relax.arange"() {start = 0 : i64, end = 16 : i64, step = 1 : i64, dtype = "int64"} : () -> tensor<16xi64>
  %rows = "relax.expand_dims"(%keys) {axis = array<i64: 1>} : (tensor<16xi64>) -> tensor<16x1xi64>
  %first = "relax.subtract"(%rows, %four) : (tensor<16x1xi64>, tensor<i64>) -> tensor<16x1xi64>
  %upto = "relax.less_equal"(%keys, %rows) : (tensor<16xi64>, tensor<16x1xi64>) -> !B
  %from = "relax.greater"(%keys, %first) : (tensor<16xi64>, tensor<16x1xi64>) -> !B
  %seen = "relax.logical_and"(%upto, %from) : (!B, !B) -> !B
  %0 = "relax.expand_dims"(%k) {axis = array<i64: 2>} : (!K) -> !K5
  %1 = "relax.broadcast_to"(%0, %shape) : (!K5, !relax.shape<#relax.dims<[], affine_map<() -> (2, 2, 3, 16, 8)>>>) -> !W5
  %2 = "relax.reshape"(%1, %merged) : (!W5, !relax.shape<#relax.dims<[], affine_map<() -> (2, 6, 16, 8)>>>) -> !Q
  %3 = "relax.repeat"(%v) {repeats = 3 : i64, axis = 1 : i64} : (!K) -> !Q
  %4 = "relax.permute_dims"(%2) {axes = array<i64: 0, 1, 3, 2>} : (!Q) -> !T
  %5 = "relax.matmul"(%q, %4) : (!Q, !T) -> !S
  %6 = "relax.astype"(%5) {dtype = "float32"} : (!S) -> !F
  %7 = "relax.where"(%seen, %6, %lowest) : (!B, !F, tensor<f32>) -> !F
  %8 = "relax.softmax"(%7) {axis = -1 : i64} : (!F) -> !F
  %9 = "relax.astype"(%8) {dtype = "float16"} : (!F) -> !S
  %10 = "relax.matmul"(%9, %3) : (!S, !Q) -> !Q
  return %10 : !Q
}
