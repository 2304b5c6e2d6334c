// RUN: relax-opt %s | relax-opt --well-formed | FileCheck %s
// RUN: relax-opt %s --export-stock | relax-opt --import-stock | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
#next = affine_map<()[s0] -> (s0 + 1)>
!N = tensor<?xf32, #relax.dims<["n"], #n>>

// What a loop carries are the fields of a tuple; its regions take them one by one.

// CHECK-LABEL: func.func @repeated
// CHECK: "relax.for"(%{{.*}}, %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[I:.*]]: i64, %[[Y:.*]]: tensor<?xf32, #relax.dims<["n"], #{{.*}}>>):
// CHECK: "relax.yield"
// CHECK: }) : (tuple<i64, i64, i64>, tuple<tensor<?xf32, #relax.dims<["n"], #{{.*}}>>>) -> tuple<tensor
func.func @repeated(%x: !N, %k: i64) -> !N attributes {relax.function} {
  %zero = "relax.prim_value"() {value = #relax.dims<[], affine_map<() -> (0)>>} : () -> i64
  %one = "relax.prim_value"() {value = #relax.dims<[], affine_map<() -> (1)>>} : () -> i64
  %range = builtin.unrealized_conversion_cast %zero, %k, %one : i64, i64, i64 to tuple<i64, i64, i64>
  %init = builtin.unrealized_conversion_cast %x : !N to tuple<!N>
  %r = "relax.for"(%range, %init) ({
  ^bb0(%i: i64, %y: !N):
    %z = "relax.add"(%y, %x) : (!N, !N) -> !N
    %t = builtin.unrealized_conversion_cast %z : !N to tuple<!N>
    "relax.yield"(%t) : (tuple<!N>) -> ()
  }) : (tuple<i64, i64, i64>, tuple<!N>) -> tuple<!N>
  %f = "relax.tuple_get_item"(%r) {index = 0 : i64} : (tuple<!N>) -> !N
  return %f : !N
}

// An integer gets a symbol in each region that makes shapes or integers of it.

// CHECK-LABEL: func.func @counted
// CHECK: "relax.while"
// CHECK: "relax.match_prim"(%{{.*}}) {value = #relax.dims<["i"], #{{.*}}>} : (i64) -> ()
// CHECK: "relax.compare_prim"(%{{.*}}, %{{.*}}) {kind = "less"} : (i64, i64) -> i1
// CHECK: "relax.logic_prim"(%{{.*}}) {kind = "and"} : (tuple<i1, tensor<i1>>) -> i1
// CHECK: "relax.condition"(%{{.*}}) : (i1) -> ()
// CHECK: "relax.match_prim"
// CHECK: "relax.yield"
func.func @counted(%c: tensor<i1>, %k: i64) -> tuple<i64> attributes {relax.function} {
  %zero = "relax.prim_value"() {value = #relax.dims<[], affine_map<() -> (0)>>} : () -> i64
  %init = builtin.unrealized_conversion_cast %zero : i64 to tuple<i64>
  %r = "relax.while"(%init) ({
  ^bb0(%i: i64):
    "relax.match_prim"(%i) {value = #relax.dims<["i"], #n>} : (i64) -> ()
    %l = "relax.compare_prim"(%i, %k) {kind = "less"} : (i64, i64) -> i1
    %t = builtin.unrealized_conversion_cast %l, %c : i1, tensor<i1> to tuple<i1, tensor<i1>>
    %b = "relax.logic_prim"(%t) {kind = "and"} : (tuple<i1, tensor<i1>>) -> i1
    "relax.condition"(%b) : (i1) -> ()
  }, {
  ^bb0(%i: i64):
    "relax.match_prim"(%i) {value = #relax.dims<["i"], #n>} : (i64) -> ()
    %j = "relax.prim_value"() {value = #relax.dims<["i"], #next>} : () -> i64
    %t = builtin.unrealized_conversion_cast %j : i64 to tuple<i64>
    "relax.yield"(%t) : (tuple<i64>) -> ()
  }) : (tuple<i64>) -> tuple<i64>
  return %r : tuple<i64>
}
