// RUN: relax-opt %s --lower-tir --split-input-file | FileCheck %s
// RUN: relax-opt %s --lower-tir=vector_bits=256 --split-input-file | FileCheck %s --check-prefix=NARROW

// Of functions that depend on each other one after the other is computed, for a block that stays in
// the first-level cache; what one function is made of stays together.

// CHECK-LABEL: func.func @two
// CHECK: %[[BLOCK:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048xi32>
// CHECK: scf.for {{.*}} step %c1024
// CHECK: scf.for {{.*}} step %c64
// CHECK: math.exp
// CHECK-NOT: math.tanh
// CHECK: arith.divf
// CHECK: vector.store {{.*}}, %[[BLOCK]]
// CHECK: scf.for {{.*}} step %c64
// CHECK: vector.load %[[BLOCK]]
// CHECK-NOT: math.exp
// CHECK: math.tanh
// CHECK: vector.store
// CHECK: scf.for {{.*}} step %c16
// CHECK: math.exp
// CHECK: math.tanh
// CHECK: vector.maskedstore
// CHECK: return
// NARROW-LABEL: func.func @two
// NARROW-NOT: memref.alloca
// NARROW: return
func.func @two(%A: memref<4001xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4001)>>},
                 %B: memref<4001xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4001)>>}) attributes {tir.prim_func} {
  %n = arith.constant 4001 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<4001xf32>
      %one = arith.constant 1.0 : f32
      %e = math.exp %a : f32
      %more = arith.addf %e, %one : f32
      %s = arith.divf %a, %more : f32
      %y = math.tanh %s : f32
      memref.store %y, %B[%v] : memref<4001xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "two", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Those that do not depend on each other take turns by themselves.

// CHECK-LABEL: func.func @side_by_side
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @side_by_side(%A: memref<4001xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4001)>>},
                 %B: memref<4001xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4001)>>}) attributes {tir.prim_func} {
  %n = arith.constant 4001 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<4001xf32>
      %e = math.exp %a : f32
      %t = math.tanh %a : f32
      %y = arith.addf %e, %t : f32
      memref.store %y, %B[%v] : memref<4001xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "side_by_side", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Few elements are no stages.

// CHECK-LABEL: func.func @few
// CHECK-NOT: memref.alloca
// CHECK: return
func.func @few(%A: memref<200xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (200)>>},
                 %B: memref<200xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (200)>>}) attributes {tir.prim_func} {
  %n = arith.constant 200 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<200xf32>
      %one = arith.constant 1.0 : f32
      %e = math.exp %a : f32
      %more = arith.addf %e, %one : f32
      %s = arith.divf %a, %more : f32
      %y = math.tanh %s : f32
      memref.store %y, %B[%v] : memref<200xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "few", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
