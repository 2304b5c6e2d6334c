// RUN: relax-opt %s --legalize-ops | FileCheck %s
// Repetitions of a row of unknown length follow each other: no remainder along the last axis.

// CHECK-LABEL: func.func private @tile(
// CHECK: %[[M:.*]] = "tir.symbol"() {value = #relax.dims<["m"]
// CHECK: "tir.block"
// CHECK: ^bb0(%[[ROW:.*]]: index, %[[TURN:.*]]: index, %[[AT:.*]]: index):
// CHECK: arith.floordivsi %[[ROW]]
// CHECK-NOT: arith.floordivsi
// CHECK: memref.load {{.*}}, %[[AT]]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[TURN]],
// CHECK: %[[PLACE:.*]] = arith.addi %[[BEFORE]], %[[AT]]
// CHECK: memref.store {{.*}}[%[[ROW]], %[[PLACE]]]
#map = affine_map<()[s0, s1] -> (s1, s0)>
#map1 = affine_map<()[s0, s1] -> (s1 * 2, s0 * 3)>
func.func @main(%x: tensor<?x?xf32, #relax.dims<["m", "n"], #map>>) -> tensor<?x?xf32, #relax.dims<["m", "n"], #map1>> attributes {relax.function} {
  %y = "relax.tile"(%x) {repeats = array<i64: 2, 3>} : (tensor<?x?xf32, #relax.dims<["m", "n"], #map>>) -> tensor<?x?xf32, #relax.dims<["m", "n"], #map1>>
  return %y : tensor<?x?xf32, #relax.dims<["m", "n"], #map1>>
}
