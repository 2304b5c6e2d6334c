// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @asserts(
// CHECK-SAME: %[[OK:.*]]: i1
func.func @asserts(%ok: i1, %n: index) {
  // CHECK: "tir.assert"(%[[OK]]) {message = "n is \22small\22"} : (i1) -> ()
  "tir.assert"(%ok) {message = "n is \22small\22"} : (i1) -> ()
  return
}
