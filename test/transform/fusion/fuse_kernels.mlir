// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --fuse-kernels --symbol-dce --split-input-file | FileCheck %s

#nm = affine_map<()[s0, s1] -> (s0, s1)>
#m = affine_map<()[s0] -> (s0)>
!X = tensor<?x?xf32, #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>>
!B = tensor<?xf32, #relax.dims<["m"], #m>>

// A chain is one kernel; the broadcast operand stays an operand of its own.

// CHECK-LABEL: func.func @chain
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:.*exp.*]]}
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @chain(%x: !X, %b: !B) -> !X attributes {relax.function} {
  %0 = "relax.add"(%x, %b) : (!X, !B) -> !X
  %1 = "relax.relu"(%0) : (!X) -> !X
  %2 = "relax.exp"(%1) : (!X) -> !X
  return %2 : !X
}

// CHECK: func.func private @[[KERNEL]]
// CHECK-COUNT-2: memref.load
// CHECK-NOT: memref.load
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: return

// -----

!V = tensor<8xf32>

// A result that is used twice is computed once and kept.

// CHECK-LABEL: func.func @used_twice
// CHECK: %[[E:.*]] = "relax.call_tir"{{.*}}@exp
// CHECK: builtin.unrealized_conversion_cast %[[E]]
// CHECK: "relax.call_tir"
func.func @used_twice(%x: !V) -> tuple<!V, !V> attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %1 = "relax.negative"(%0) : (!V) -> !V
  %2 = builtin.unrealized_conversion_cast %0, %1 : !V, !V to tuple<!V, !V>
  return %2 : tuple<!V, !V>
}

// -----

!V = tensor<8xf32>

// The same operand twice is still one use.

// CHECK-LABEL: func.func @squared
// CHECK-COUNT-1: "relax.call_tir"
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @squared(%x: !V) -> !V attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %1 = "relax.multiply"(%0, %0) : (!V, !V) -> !V
  return %1 : !V
}

// -----

!V = tensor<8xf32>
!W = tensor<4x8xf32>

// Where the consumer broadcasts it, the result would be computed once per row.

// CHECK-LABEL: func.func @broadcast_result
// CHECK: "relax.call_tir"{{.*}}@exp
// CHECK: "relax.call_tir"{{.*}}@add
func.func @broadcast_result(%x: !V, %w: !W) -> !W attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %1 = "relax.add"(%w, %0) : (!W, !V) -> !W
  return %1 : !W
}

// -----

!V = tensor<8xf32>

// A packed call that sees the value in between keeps both.

// CHECK-LABEL: func.func @observed
// CHECK: "relax.call_tir"{{.*}}@exp
// CHECK: "relax.call_packed"
// CHECK: "relax.call_tir"{{.*}}@negative
func.func @observed(%x: !V) -> !V attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %a = builtin.unrealized_conversion_cast %0 : !V to tuple<!V>
  %p = "relax.call_packed"(%a) {func = "observe"} : (tuple<!V>) -> !relax.object
  %1 = "relax.negative"(%0) : (!V) -> !V
  return %1 : !V
}

// -----

!V = tensor<8xf32>

// Two layers of the same make share their kernel.

// CHECK-LABEL: func.func @layers
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:.*]]}
// CHECK: "relax.call_packed"
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL]]}
// CHECK: return
func.func @layers(%x: !V) -> !V attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %1 = "relax.negative"(%0) : (!V) -> !V
  %a = builtin.unrealized_conversion_cast %1 : !V to tuple<!V>
  %p = "relax.call_packed"(%a) {func = "observe"} : (tuple<!V>) -> !relax.object
  %2 = "relax.exp"(%1) : (!V) -> !V
  %3 = "relax.negative"(%2) : (!V) -> !V
  return %3 : !V
}

// -----

!V = tensor<8xf32>

// Computing it later, the first kernel would see what the packed function did to its operand.

// CHECK-LABEL: func.func @changed_meanwhile
// CHECK: "relax.call_tir"{{.*}}@exp
// CHECK: "relax.call_packed"
// CHECK: "relax.call_tir"{{.*}}@negative
func.func @changed_meanwhile(%x: !V) -> !V attributes {relax.function} {
  %0 = "relax.exp"(%x) : (!V) -> !V
  %a = builtin.unrealized_conversion_cast %x : !V to tuple<!V>
  %p = "relax.call_packed"(%a) {func = "change"} : (tuple<!V>) -> !relax.object
  %1 = "relax.negative"(%0) : (!V) -> !V
  return %1 : !V
}

// -----

!M = tensor<8x4xf32>

// Indices computed from constants come along, before what uses them.

// CHECK-LABEL: func.func @computed_indices
// CHECK: "relax.call_tir"{{.*}}@flip_negative
// CHECK-LABEL: func.func private @flip_negative
// CHECK: [[LAST:%.*]] = arith.constant 3 : index
// CHECK: arith.subi [[LAST]], %{{.*}} : index
func.func @computed_indices(%x: !M) -> !M attributes {relax.function} {
  %0 = "relax.flip"(%x) {axis = 1 : i64} : (!M) -> !M
  %1 = "relax.negative"(%0) : (!M) -> !M
  return %1 : !M
}

// -----

// Elements that are repeated along one axis and another are copied once.

// CHECK-LABEL: func.func @upsample
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:repeat_repeat]]}
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @upsample(%x: tensor<4x8xf32>) -> tensor<12x16xf32> attributes {relax.function} {
  %0 = "relax.repeat"(%x) {repeats = 3 : i64, axis = 0 : i64} : (tensor<4x8xf32>) -> tensor<12x8xf32>
  %1 = "relax.repeat"(%0) {repeats = 2 : i64, axis = 1 : i64} : (tensor<12x8xf32>) -> tensor<12x16xf32>
  return %1 : tensor<12x16xf32>
}

// CHECK: func.func private @[[KERNEL]](
// CHECK: arith.floordivsi
// CHECK: arith.floordivsi
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK: memref.store

// -----

// Along one axis twice, or of something else as well, they stay two kernels.

// CHECK-LABEL: func.func @along_one_axis
// CHECK-COUNT-2: "relax.call_tir"
func.func @along_one_axis(%x: tensor<4x8xf32>) -> tensor<24x8xf32> attributes {relax.function} {
  %0 = "relax.repeat"(%x) {repeats = 3 : i64, axis = 0 : i64} : (tensor<4x8xf32>) -> tensor<12x8xf32>
  %1 = "relax.repeat"(%0) {repeats = 2 : i64, axis = 0 : i64} : (tensor<12x8xf32>) -> tensor<24x8xf32>
  return %1 : tensor<24x8xf32>
}

// -----

// CHECK-LABEL: func.func @of_a_sum
// CHECK-COUNT-2: "relax.call_tir"
func.func @of_a_sum(%x: tensor<4x8xf32>) -> tensor<4x16xf32> attributes {relax.function} {
  %0 = "relax.add"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.repeat"(%0) {repeats = 2 : i64, axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

!V = tensor<8xf32>

// Numbers are in the kernel, and what two of the fused operations read is loaded once.

// CHECK-LABEL: func.func @written_out
// CHECK: "relax.call_tir"{{.*}}@[[KERNEL:.*erf.*]]} : {{.*}}, tuple<tensor<8xf32>>)
// CHECK-NOT: "relax.call_tir"
// CHECK: return
func.func @written_out(%x: !V) -> !V attributes {relax.function} {
  %root = "relax.constant"() {value = dense<1.41421354> : tensor<f32>} : () -> tensor<f32>
  %one = "relax.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "relax.divide"(%x, %root) : (!V, tensor<f32>) -> !V
  %1 = "relax.erf"(%0) : (!V) -> !V
  %2 = "relax.add"(%1, %one) : (!V, tensor<1xf32>) -> !V
  %3 = "relax.multiply"(%x, %2) : (!V, !V) -> !V
  return %3 : !V
}

// CHECK: func.func private @[[KERNEL]]
// CHECK: %[[X:.*]] = memref.load
// CHECK-NOT: memref.load
// CHECK: %[[S:.*]] = arith.divf %[[X]], %
// CHECK: %[[E:.*]] = math.erf %[[S]]
// CHECK: %[[T:.*]] = arith.addf %[[E]], %
// CHECK: arith.mulf %[[X]], %[[T]]
