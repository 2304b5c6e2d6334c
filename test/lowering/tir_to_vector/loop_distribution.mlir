// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --lower-tir --split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3" --lower-tir --split-input-file | FileCheck %s --check-prefix=NARROW

// Dependent functions are computed one after the other, each for a block in L1; the operations of a
// function stay together.

// CHECK-LABEL: func.func @two
// CHECK: %[[BLOCK:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1024xi32>
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

// -----

// Out of the caches the next block of operands that are read once is prefetched, but not of shared
// rows.

// CHECK-LABEL: func.func @far
// CHECK: %[[A:.*]] = memref.collapse_shape %arg0
// CHECK-COUNT-4: memref.prefetch %[[A]][%{{.*}}], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: math.exp
// CHECK: math.tanh
// CHECK: vector.store {{.*}} nontemporal
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @far(%A: memref<16384x1024xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (16384, 1024)>>},
               %S: memref<1024xf32> {tir.name = "S", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (1024)>>},
               %B: memref<16384x1024xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (16384, 1024)>>}) attributes {tir.prim_func} {
  %n = arith.constant 16384 : index
  %m = arith.constant 1024 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %m) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %n, %m) ({
      ^bb0(%v: index, %w: index):
        %a = memref.load %A[%v, %w] : memref<16384x1024xf32>
        %s = memref.load %S[%w] : memref<1024xf32>
        %p = arith.mulf %a, %s : f32
        %one = arith.constant 1.0 : f32
        %e = math.exp %p : f32
        %more = arith.addf %e, %one : f32
        %d = arith.divf %p, %more : f32
        %y = math.tanh %d : f32
        memref.store %y, %B[%v, %w] : memref<16384x1024xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "far", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
