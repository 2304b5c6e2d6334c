// RUN: relax-opt %s | relax-opt --well-formed | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!K = tensor<?xf32, #relax.dims<["k"], #n>>

// The parameters of a lambda bind symbols of their own.

// CHECK-LABEL: func.func @closures
// CHECK: %[[F:.*]] = "relax.lambda"() ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?xf32, #relax.dims<["k"], #{{.*}}>>):
// CHECK: "relax.yield"
// CHECK: }) : () -> !relax.object
// CHECK: "relax.invoke_closure"(%[[F]], %{{.*}}) {pure} : (!relax.object, tuple<{{.*}}>) -> tensor<?xf32
// CHECK: "relax.make_closure"(%{{.*}}) {callee = @closures} : (tuple<{{.*}}>) -> !relax.object
func.func @closures(%x: !N) -> !relax.object attributes {relax.function} {
  %f = "relax.lambda"() ({
  ^bb0(%a: !K):
    %e = "relax.exp"(%a) : (!K) -> !K
    "relax.yield"(%e) : (!K) -> ()
  }) : () -> !relax.object
  %t = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %r = "relax.invoke_closure"(%f, %t) {pure} : (!relax.object, tuple<!N>) -> !N
  %c = "relax.make_closure"(%t) {callee = @closures} : (tuple<!N>) -> !relax.object
  return %c : !relax.object
}
