// RUN: relax-opt %s --lambda-lift --split-input-file | FileCheck %s

// What is called where it is known is called directly, what it captured passed along.

#n = affine_map<()[s0] -> (s0)>
!X = tensor<?xf32, #relax.dims<["n"], #n>>
!O = !relax.object

// CHECK-LABEL: func.func @direct
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32{{.*}}>, %[[Y:.*]]: tensor<?xf32{{.*}}>)
// CHECK: %[[E:.*]] = "relax.exp"(%[[Y]])
// CHECK: %[[ARGS:.*]] = builtin.unrealized_conversion_cast %[[X]], %[[E]]
// CHECK: %[[R:.*]] = "relax.call"(%[[ARGS]]) {callee = @direct_lambda, pure}
// CHECK: return %[[R]]
func.func @direct(%x: !X, %y: !X) -> !X attributes {relax.function} {
  %e = "relax.exp"(%y) : (!X) -> !X
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %f = "relax.lambda"() ({
  ^bb0(%a: !X):
    %s = "relax.add"(%a, %e) : (!X, !X) -> !X
    %d = "relax.multiply"(%s, %two) : (!X, tensor<f32>) -> !X
    "relax.yield"(%d) : (!X) -> ()
  }) : () -> !O
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %r = "relax.invoke_closure"(%f, %t) {pure} : (!O, tuple<!X>) -> !X
  return %r : !X
}

// A literal is copied into the function instead of being passed.

// CHECK-LABEL: func.func private @direct_lambda
// CHECK-SAME: (%[[A:.*]]: tensor<?xf32{{.*}}>, %[[C:.*]]: tensor<?xf32{{.*}}>) -> tensor<?xf32
// CHECK-SAME: relax.function
// CHECK: "relax.constant"
// CHECK: "relax.add"(%[[A]], %[[C]])
// CHECK: return

// -----

// A function that is chosen at run time, or leaves the function, is a closure; one inside another is
// lifted first. Sizes that no parameter binds are captured as a shape.

#n2 = affine_map<()[s0] -> (s0 floordiv 2)>
#n = affine_map<()[s0] -> (s0)>
!X = tensor<?xf32, #relax.dims<["n"], #n2>>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!O = !relax.object

// CHECK-LABEL: func.func @chosen
// CHECK: "relax.if"
// CHECK: %[[S:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"]
// CHECK: %[[CAPTURED:.*]] = builtin.unrealized_conversion_cast %[[X:.*]], %[[S]]
// CHECK: "relax.make_closure"(%[[CAPTURED]]) {callee = @chosen_lambda[[I:.*]]} {{.*}} -> !relax.object
// CHECK: "relax.make_closure"(%{{.*}}) {callee = @chosen_lambda[[J:.*]]}
// CHECK: %[[R:.*]] = "relax.call_packed"(%{{.*}}) {func = "vm.builtin.invoke_closure"} {{.*}} -> !relax.object
// CHECK: "relax.match_cast"(%[[R]]) : (!relax.object) -> tensor<?xf32
func.func @chosen(%flag: tensor<i1>, %n: !N, %x: !X) -> !X attributes {relax.function} {
  %f = "relax.if"(%flag) ({
    %g = "relax.lambda"() ({
    ^bb0(%a: !X):
      %s = "relax.add"(%a, %x) : (!X, !X) -> !X
      "relax.yield"(%s) : (!X) -> ()
    }) : () -> !O
    "relax.yield"(%g) : (!O) -> ()
  }, {
    %h = "relax.lambda"() ({
    ^bb0(%a: tensor<?xf32>):
      %inner = "relax.lambda"() ({
        %e = "relax.exp"(%a) : (tensor<?xf32>) -> tensor<?xf32>
        "relax.yield"(%e) : (tensor<?xf32>) -> ()
      }) : () -> !O
      %none = builtin.unrealized_conversion_cast to tuple<>
      %r = "relax.invoke_closure"(%inner, %none) : (!O, tuple<>) -> tensor<?xf32>
      "relax.yield"(%r) : (tensor<?xf32>) -> ()
    }) : () -> !O
    "relax.yield"(%h) : (!O) -> ()
  }) : (tensor<i1>) -> !O
  %t = builtin.unrealized_conversion_cast %x : !X to tuple<!X>
  %r = "relax.invoke_closure"(%f, %t) : (!O, tuple<!X>) -> !X
  return %r : !X
}

// CHECK: func.func private @chosen_lambda
// CHECK-NOT: "relax.lambda"

// -----

// A recursive function calls the lifted one directly, with what it captured itself. The symbol of an
// integer that is known at run time only is captured as a shape.

#n = affine_map<()[s0] -> (s0)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>
!O = !relax.object

// CHECK-LABEL: func.func @recursive
// CHECK: "relax.match_prim"(%[[K:.*]]) {value
// CHECK: %[[S:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"]
// CHECK-NOT: "relax.make_closure"
// CHECK: %[[C:.*]] = builtin.unrealized_conversion_cast %{{.*}}, %{{.*}}, %[[S]]
// CHECK: "relax.call"(%[[C]]) {callee = @recursive_lambda}
// CHECK-LABEL: func.func private @recursive_lambda
// CHECK-SAME: (%[[A:[^:]*]]: tensor<?xf32>, %[[X:[^:]*]]: tensor<?xf32>, %[[S:[^:]*]]: !relax.shape<
// CHECK: builtin.unrealized_conversion_cast %[[A]], %[[X]], %[[S]]
// CHECK: "relax.call"(%{{.*}}) {callee = @recursive_lambda}
func.func @recursive(%x: tensor<?xf32>, %k: i64) -> tensor<?xf32> attributes {relax.function} {
  "relax.match_prim"(%k) {value = #relax.dims<["n"], #n>} : (i64) -> ()
  %f = "relax.lambda"() ({
  ^bb0(%self: !O, %a: tensor<?xf32>):
    %m = "relax.match_cast"(%x) : (tensor<?xf32>) -> !N
    %t = builtin.unrealized_conversion_cast %a : tensor<?xf32> to tuple<tensor<?xf32>>
    %r = "relax.invoke_closure"(%self, %t) : (!O, tuple<tensor<?xf32>>) -> tensor<?xf32>
    %s = "relax.add"(%r, %m) : (tensor<?xf32>, !N) -> tensor<?xf32>
    "relax.yield"(%s) : (tensor<?xf32>) -> ()
  }) {recursive} : () -> !O
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %r = "relax.invoke_closure"(%f, %t) : (!O, tuple<tensor<?xf32>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
