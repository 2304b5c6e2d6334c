// RUN: relax-opt %s --decompose-ops-for-inference --split-input-file | FileCheck %s
// RUN: not relax-opt %s --decompose-ops-for-inference=func-name=mainn 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no function 'mainn'; did you mean 'main'?

!X = tensor<2x3x5x5xf32>
!V = tensor<3xf32>
!T = tuple<!X, !V, !V>

// The running statistics, gamma and beta along the channels.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x5x5xf32>, %{{.*}}, %[[B:.*]]: tensor<3xf32>, %[[M:.*]]: tensor<3xf32>, %[[S:.*]]: tensor<3xf32>)
// CHECK: %[[M4:.*]] = "relax.expand_dims"(%[[M]]) {axis = array<i64: 0, 2, 3>}
// CHECK-NEXT: %[[C:.*]] = "relax.subtract"(%[[X]], %[[M4]])
// CHECK: %[[S4:.*]] = "relax.expand_dims"(%[[S]])
// CHECK-NEXT: %[[A:.*]] = "relax.add"(%[[S4]]
// CHECK-NEXT: %[[R:.*]] = "relax.sqrt"(%[[A]])
// CHECK-NEXT: %[[D:.*]] = "relax.divide"(%[[C]], %[[R]])
// CHECK-NEXT: %[[B4:.*]] = "relax.expand_dims"(%[[B]])
// CHECK-NEXT: %[[O:.*]] = "relax.add"(%[[D]], %[[B4]])
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[O]], %[[M]], %[[S]]
func.func @main(%x: !X, %g: !V, %b: !V, %m: !V, %s: !V) -> !T attributes {relax.function} {
  %t = "relax.batch_norm"(%x, %g, %b, %m, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = false, momentum = 0.1 : f64, training = true} : (!X, !V, !V, !V, !V) -> !T
  return %t : !T
}

// A shape made of a tensor binds symbols.

// CHECK-LABEL: func.func @shape
// CHECK: %[[P:.*]] = "relax.call_pure_packed"({{.*}}) {func = "vm.builtin.tensor_to_shape"} : {{.*}} -> !relax.shape<2 : i64>
// CHECK-NEXT: "relax.match_cast"(%[[P]]) : {{.*}} -> !relax.shape<#relax.dims<["x", "x1"], {{.*}}>>
// CHECK-NEXT: %[[S:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["x", "x1"]
// CHECK-NEXT: "relax.reshape"(%{{.*}}, %[[S]])
func.func @shape(%t: tensor<2xi64>, %v: tensor<6xf32>) -> tensor<?x?xf32> attributes {relax.function} {
  %s = "relax.tensor_to_shape"(%t) : (tensor<2xi64>) -> !relax.shape<2 : i64>
  %y = "relax.reshape"(%v, %s) : (tensor<6xf32>, !relax.shape<2 : i64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// What is known too little stays, and so does a layer normalization.

// CHECK-LABEL: func.func @unknown
// CHECK: "relax.batch_norm"
// CHECK: "relax.layer_norm"
func.func @unknown(%x: tensor<*xf32>, %v: !V) -> tensor<3xf32> attributes {relax.function} {
  %t = "relax.batch_norm"(%x, %v, %v, %v, %v) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (tensor<*xf32>, !V, !V, !V, !V) -> tuple<tensor<*xf32>, !V, !V>
  %m = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<tensor<*xf32>, !V, !V>) -> !V
  %n = "relax.layer_norm"(%m, %v, %v) {axes = array<i64: 0>, epsilon = 1.0e-5 : f64, center = true, scale = true} : (!V, !V, !V) -> !V
  return %n : !V
}
