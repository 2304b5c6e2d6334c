// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server" --lower-tir --split-input-file | FileCheck %s

// A contraction: tiles of accumulators, sizes read from the buffers, nothing of tir left.

#i = affine_map<()[s0, s1] -> (s0, s1)>
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: tir.name = "A"
// CHECK-SAME: attributes {tir.prim_func}
// CHECK-NOT: "tir.
// CHECK: memref.dim
// Few columns are rows of a copy, and vectors run along k: sums of eight rows are added up together.
// CHECK: arith.cmpi sle, %{{.*}}, %c8 :
// CHECK: scf.if
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload {{.*}} %[[MASK]]
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: memref.prefetch
// CHECK: scf.for {{.*}} -> (vector<16xf32>,
// CHECK: vector.broadcast
// CHECK: vector.fma
// Sums of the first block of k are stored without a look at what was there, those of others added:
// in a loop over rows with few columns, else by inline code.
// CHECK: scf.if %{{.*}} -> (vector<16xf32>) {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: vector.maskedload
// CHECK-NEXT: arith.addf
// CHECK: vector.maskedstore
// CHECK: scf.if
// CHECK-NOT: vector.maskedload
// CHECK: vector.maskedstore
// CHECK-NOT: vector.maskedload
// CHECK: } else {
// CHECK: vector.maskedload
// CHECK-NEXT: arith.addf
// CHECK: vector.maskedstore
func.func @matmul(%A: memref<?x?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s1, s0)>>},
                  %B: memref<?x?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["k", "n"], #i>},
                  %C: memref<?x?xf32> {tir.name = "C", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n"], #i>}) attributes {tir.prim_func} {
  %m = "tir.symbol"() {value = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>} : () -> index
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %k = "tir.symbol"() {value = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %m) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.for"(%c0, %k) ({
      ^bb0(%p: index):
        "tir.block"(%i, %j, %p, %m, %n, %k) ({
        ^bb0(%vi: index, %vj: index, %vp: index):
          %c = memref.load %C[%vi, %vj] : memref<?x?xf32>
          %a = memref.load %A[%vi, %vp] : memref<?x?xf32>
          %b = memref.load %B[%vp, %vj] : memref<?x?xf32>
          %x = arith.mulf %a, %b : f32
          %y = arith.addf %c, %x : f32
          memref.store %y, %C[%vi, %vj] : memref<?x?xf32>
          "tir.yield"() : () -> ()
        }, {
        ^bb0(%vi: index, %vj: index, %vp: index):
          %z = arith.constant 0.0 : f32
          memref.store %z, %C[%vi, %vj] : memref<?x?xf32>
          "tir.yield"() : () -> ()
        }) {block_name = "matmul", iter_types = ["spatial", "spatial", "reduction"]} : (index, index, index, index, index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Two nests over the same rows share the loop: the buffer between shrinks to a few rows. Rows
// that come from beyond all caches go one at a time, and the next ones are fetched early; others go
// by blocks. Where only run time knows there is code for both.

#n = affine_map<()[s0, s1] -> (s0, s1)>
// CHECK-LABEL: func.func @rows
// CHECK: %[[ONE:.*]] = memref.alloca() {{.*}} : memref<16xf32>
// CHECK: %[[ROW:.*]] = memref.alloca() {{.*}} : memref<16xf32>
// CHECK: %[[FAR:.*]] = arith.cmpi sle, %c25165824
// CHECK: scf.if %[[FAR]]
// CHECK: scf.for {{.*}} step %c1 {
// CHECK-NOT: memref.prefetch
// CHECK: arith.cmpf ogt, {{.*}} : vector<16xf32>
// CHECK-NEXT: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.reduction <or>, {{.*}} : vector<16xi1> into i1
// CHECK: memref.store {{.*}}, %[[ONE]][%c0]
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data
// CHECK: memref.load %[[ONE]][%c0]
// CHECK: arith.subf {{.*}} : vector<64xf32>
// CHECK: vector.store {{.*}}nontemporal = true
// CHECK: } else {
// CHECK: scf.for {{.*}} step %{{[0-9]+}}
// CHECK-NOT: memref.prefetch
// CHECK: scf.for
// CHECK: memref.store {{.*}}, %[[ROW]]
// CHECK: scf.for
// CHECK: memref.load %[[ROW]]
// CHECK: return
func.func @rows(%A: memref<?x?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n"], #n>},
                %C: memref<?x?xf32> {tir.name = "C", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n"], #n>}) attributes {tir.prim_func} {
  %m = "tir.symbol"() {value = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>} : () -> index
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  %P = memref.alloc(%m) {tir.name = "P", tir.dtype = "float32", tir.shape = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>} : memref<?xf32>
  "tir.for"(%c0, %m) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %m, %n) ({
      ^bb0(%vi: index, %vj: index):
        %p = memref.load %P[%vi] : memref<?xf32>
        %a = memref.load %A[%vi, %vj] : memref<?x?xf32>
        %x = arith.maximumf %p, %a : f32
        memref.store %x, %P[%vi] : memref<?xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vj: index):
        %z = arith.constant 0xFF800000 : f32
        memref.store %z, %P[%vi] : memref<?xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "peak", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  "tir.for"(%c0, %m) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %m, %n) ({
      ^bb0(%vi: index, %vj: index):
        %p = memref.load %P[%vi] : memref<?xf32>
        %a = memref.load %A[%vi, %vj] : memref<?x?xf32>
        %x = arith.subf %a, %p : f32
        memref.store %x, %C[%vi, %vj] : memref<?x?xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "shift", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// What the fast paths do not take: the init region moves in front of the reduction loop, a predicate
// stays a branch, sizes are computed once.

// CHECK-LABEL: func.func @generic
// CHECK: %[[N:.*]] = memref.dim %{{.*}}, %c0
// CHECK: %[[TWICE:.*]] = arith.muli %[[N]], %c2
// CHECK: scf.for %[[I:.*]] = %c0 to %[[N]]
// CHECK: memref.store %cst, %{{.*}}[%[[I]]]
// CHECK: scf.for %[[J:.*]] = %c0 to %[[TWICE]]
// CHECK: arith.cmpi slt
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]]]
func.func @generic(%A: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>},
                   %C: memref<?xf32> {tir.name = "C", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %n2 = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0 * 2)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n2) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %n, %n2) ({
      ^bb0(%vi: index, %vj: index):
        %in = arith.cmpi slt, %vj, %vi : index
        scf.if %in {
          %c = memref.load %C[%vi] : memref<?xf32>
          %a = memref.load %A[%vj] : memref<?xf32>
          %x = arith.addf %c, %a : f32
          memref.store %x, %C[%vi] : memref<?xf32>
        }
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vj: index):
        %z = arith.constant 1.0 : f32
        memref.store %z, %C[%vi] : memref<?xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "before", iter_types = ["spatial", "reduction"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// One counter for two iterators: the init region is guarded where it stands.

// CHECK-LABEL: func.func @guarded
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.remui
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, {{.*}} : index
// CHECK: scf.if %[[FIRST]]
func.func @guarded(%A: memref<8x4xf32> {tir.name = "A"}, %C: memref<8x4xf32> {tir.name = "C"}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c32) ({
    ^bb0(%f: index):
      %j = arith.divui %f, %c8 : index
      %k = arith.remui %f, %c8 : index
      "tir.block"(%i, %j, %k, %c8, %c4, %c8) ({
      ^bb0(%vi: index, %vj: index, %vk: index):
        %c = memref.load %C[%vi, %vj] : memref<8x4xf32>
        %a = memref.load %A[%vk, %vj] : memref<8x4xf32>
        %x = arith.addf %c, %a : f32
        memref.store %x, %C[%vi, %vj] : memref<8x4xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vj: index, %vk: index):
        %z = arith.constant 0.0 : f32
        memref.store %z, %C[%vi, %vj] : memref<8x4xf32>
        "tir.yield"() : () -> ()
      }) {block_name = "fused", iter_types = ["spatial", "spatial", "reduction"]} : (index, index, index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Other functions are left alone.

// CHECK-LABEL: func.func @main
// CHECK: "relax.exp"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %y = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
