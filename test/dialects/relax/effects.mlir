// What upstream's passes may do with computations: all in pure functions, and where tensors are
// written to no more than drop what nobody uses.
// RUN: relax-opt %s --cse | FileCheck %s
// RUN: relax-opt %s --canonicalize | FileCheck %s --check-prefix=DROPPED
// RUN: relax-opt %s --trivial-dce | FileCheck %s --check-prefix=DROPPED
// RUN: relax-opt %s --cse --legalize-ops --cse --call-tir-rewrite --cse --canonicalize | FileCheck %s --check-prefix=LOWERED

!T = tensor<4xf32>

// CHECK-LABEL: func.func @pure
// CHECK-COUNT-1: "relax.exp"
// CHECK-NOT: "relax.exp"
// DROPPED-LABEL: func.func @pure
// DROPPED-COUNT-2: "relax.exp"
// DROPPED-NOT: "relax.exp"
func.func @pure(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %unused = "relax.exp"(%x) : (!T) -> !T
  %c = "relax.add"(%a, %b) : (!T, !T) -> !T
  return %c : !T
}

// One of two equal results is written to, and so may be what they were computed from.

// CHECK-LABEL: func.func @impure
// CHECK-COUNT-2: "relax.exp"
// CHECK: "relax.call_packed"
// CHECK: "relax.exp"
// DROPPED-LABEL: func.func @impure
// DROPPED-COUNT-2: "relax.exp"
// DROPPED: "relax.call_packed"
// DROPPED-COUNT-1: "relax.exp"
// DROPPED-NOT: "relax.exp"
// LOWERED-LABEL: func.func @impure
// LOWERED-COUNT-3: "relax.alloc_tensor"
func.func @impure(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a, %x : !T, !T to tuple<!T, !T>
  %p = "relax.call_packed"(%t) {func = "update"} : (tuple<!T, !T>) -> !relax.object
  %c = "relax.exp"(%x) : (!T) -> !T
  %unused = "relax.exp"(%x) : (!T) -> !T
  %d = "relax.add"(%a, %b) : (!T, !T) -> !T
  %e = "relax.add"(%d, %c) : (!T, !T) -> !T
  return %e : !T
}

// Also through a call, and from within a branch.

// CHECK-LABEL: func.func @calls
// DROPPED-LABEL: func.func @calls
// CHECK-COUNT-2: "relax.exp"
func.func @calls(%x: !T, %flag: tensor<i1>) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %b = "relax.exp"(%x) : (!T) -> !T
  %i = "relax.if"(%flag) ({
    %t = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
    %r = "relax.call"(%t) {callee = @impure} : (tuple<!T>) -> !T
    "relax.yield"(%r) : (!T) -> ()
  }, {
    "relax.yield"(%x) : (!T) -> ()
  }) : (tensor<i1>) -> !T
  %c = "relax.add"(%i, %b) : (!T, !T) -> !T
  return %c : !T
}

// Printing writes to nothing.

// CHECK-LABEL: func.func @printed
// CHECK-COUNT-1: "relax.exp"
// CHECK-NOT: "relax.exp"
func.func @printed(%x: !T) -> !T attributes {relax.function} {
  %a = "relax.exp"(%x) : (!T) -> !T
  %t = builtin.unrealized_conversion_cast %a : !T to tuple<!T>
  %p = "relax.call_packed"(%t) {func = "vm.builtin.print"} : (tuple<!T>) -> !relax.object
  %b = "relax.exp"(%x) : (!T) -> !T
  %c = "relax.add"(%a, %b) : (!T, !T) -> !T
  return %c : !T
}
