// RUN: relax-opt %s --inline-private-functions | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!M = tensor<?xf32, #relax.dims<["m"], #n>>

// A call in a call; the sizes of the callee become the caller's.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32, #relax.dims<["m"]
// CHECK: "relax.dataflow"
// CHECK: %[[E:.*]] = "relax.exp"(%[[X]]) : {{.*}}#relax.dims<["m"]
// CHECK-NEXT: %[[S:.*]] = "relax.add"(%[[E]], %[[E]])
// CHECK-NEXT: "relax.output"(%[[S]])
func.func @main(%x: !M) -> !M attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : !M to tuple<!M>
    %y = "relax.call"(%t) {callee = @outer, pure} : (tuple<!M>) -> !M
    "relax.output"(%y) : (!M) -> ()
  }) : () -> !M
  return %0 : !M
}

// CHECK-NOT: @outer
func.func private @outer(%x: !N) -> !N attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
    %y = "relax.call"(%t) {callee = @inner, pure} : (tuple<!N>) -> !N
    %z = "relax.add"(%y, %y) : (!N, !N) -> !N
    "relax.output"(%z) : (!N) -> ()
  }) : () -> !N
  return %0 : !N
}

func.func private @inner(%x: !N) -> !N attributes {relax.function} {
  %y = "relax.exp"(%x) : (!N) -> !N
  return %y : !N
}

// A recursive function stays.
// CHECK-LABEL: func.func @calls
// CHECK: callee = @again
func.func @calls(%x: !M) -> !M attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !M to tuple<!M>
  %y = "relax.call"(%t) {callee = @again} : (tuple<!M>) -> !M
  return %y : !M
}

// CHECK: func.func private @again
func.func private @again(%x: !N) -> !N attributes {relax.function} {
  %t = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %y = "relax.call"(%t) {callee = @again} : (tuple<!N>) -> !N
  return %y : !N
}
