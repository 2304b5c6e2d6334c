// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

#n = affine_map<()[s0] -> (s0)>
#half = affine_map<()[s0] -> (s0 floordiv 2)>

// CHECK-LABEL: func.func @symbols(
func.func @symbols(%A: memref<?xf32> {tir.name = "A", tir.shape = #relax.dims<["n"], #n>}) attributes {tir.prim_func} {
  // CHECK-NEXT: "tir.symbol"() {value = #relax.dims<["n"], #{{.*}}>} : () -> index
  %0 = "tir.symbol"() {value = #relax.dims<["n"], #n>} : () -> index
  // CHECK-NEXT: "tir.symbol"() {value = #relax.dims<["n"], #{{.*}}>} : () -> index
  %1 = "tir.symbol"() {value = #relax.dims<["n"], #half>} : () -> index
  return
}

// CHECK-LABEL: func.func @kinds(
func.func @kinds(%n: index) {
  // CHECK-NEXT: %[[LB:.*]] = arith.constant 3 : index
  %lb = arith.constant 3 : index
  // CHECK-NEXT: "tir.for"(%[[LB]], %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[I:.*]]: index):
  "tir.for"(%lb, %n) ({
  ^bb0(%i: index):
    // CHECK-NEXT: "tir.for"(%[[I]], %{{.*}}) ({
    "tir.for"(%i, %n) ({
    ^bb0(%j: index):
      // CHECK: "tir.yield"() : () -> ()
      "tir.yield"() : () -> ()
    // CHECK-NEXT: }) {kind = "vectorized"} : (index, index) -> ()
    }) {kind = "vectorized"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  // CHECK: }) {kind = "parallel"} : (index, index) -> ()
  }) {kind = "parallel"} : (index, index) -> ()
  // CHECK: kind = "serial"
  "tir.for"(%lb, %n) ({ ^bb0(%i: index): "tir.yield"() : () -> () }) {kind = "serial"} : (index, index) -> ()
  // CHECK: kind = "unrolled"
  "tir.for"(%lb, %n) ({ ^bb0(%i: index): "tir.yield"() : () -> () }) {kind = "unrolled"} : (index, index) -> ()
  return
}
