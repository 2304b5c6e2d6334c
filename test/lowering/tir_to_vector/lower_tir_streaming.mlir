// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server" --lower-tir --split-input-file | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server -num-threads=2" --lower-tir --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-threads=2" --lower-tir --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-threads=2" --lower-tir --split-input-file | FileCheck %s --check-prefix=HALF

// What does not fit the cache is stored non-temporally, aligned, several vectors at a time.

// Two cores do better with plain stores as long as some of it stays in the last-level cache.

// TWO-LABEL: func.func @large
// TWO-NOT: nontemporal
// TWO: return
// SMALL-LABEL: func.func @large
// SMALL: nontemporal
// HALF-LABEL: func.func @large
// HALF: vector.store {{.*}} {alignment = 32 : i64, nontemporal = true} : {{.*}} vector<32xf32>
// CHECK-LABEL: func.func @large
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: scf.if
// CHECK: vector.maskedstore
// CHECK: scf.for
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true} : {{.*}} vector<64xf32>
// CHECK: scf.for
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true} : {{.*}} vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()
func.func @large(%A: memref<4194304xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4194304)>>},
                 %B: memref<4194304xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (4194304)>>}) attributes {tir.prim_func} {
  %n = arith.constant 4194304 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<4194304xf32>
      %x = arith.negf %a : f32
      memref.store %x, %B[%v] : memref<4194304xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "negative", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// An iterator's value is a vector of neighbours.

// CHECK-LABEL: func.func @numbers
// CHECK: scf.for %[[I:.*]] = 
// CHECK: arith.index_cast %[[I]] : index to i32
// CHECK: vector.broadcast {{.*}} : i32 to vector<64xi32>
// CHECK: arith.addi
// CHECK-NOT: nontemporal
// CHECK: return
func.func @numbers(%B: memref<1024xi32> {tir.name = "B", tir.dtype = "int32", tir.shape = #relax.dims<[], affine_map<() -> (1024)>>}) attributes {tir.prim_func} {
  %n = arith.constant 1024 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %x = arith.index_cast %v : index to i32
      memref.store %x, %B[%v] : memref<1024xi32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "numbers", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// With dynamic sizes, only non-temporal stores are fenced.

// CHECK-LABEL: func.func @any
// CHECK: [[PAST:%.*]] = arith.cmpi sge
// CHECK: scf.if [[PAST]] {
// CHECK: nontemporal
// CHECK: } else {
// CHECK: [[AGAIN:%.*]] = arith.cmpi sge
// CHECK: scf.if [[AGAIN]] {
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.sse.sfence"()
// CHECK-NEXT: }
func.func @any(%A: memref<?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>},
               %B: memref<?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<?xf32>
      %x = arith.negf %a : f32
      memref.store %x, %B[%v] : memref<?xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "negative", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// A transpose out of cache has non-temporal stores if they are aligned, in blocks of 48 rows. Each line
// that it reads is prefetched in the rows' order.
#s = affine_map<() -> (4096, 4096)>
// CHECK-LABEL: func.func @transposed
// CHECK: scf.if
// CHECK: scf.for {{.*}} step %c48
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.if
// CHECK-COUNT-16: memref.prefetch {{.*}}, read, locality<2>, data
// CHECK-COUNT-16: nontemporal = true
// CHECK: } else {
// CHECK: scf.for {{.*}} step %c64
// CHECK-NOT: nontemporal
// CHECK: return
// Threads share its rows by tiles of 16, so that few rows go to several, too.
// TWO-LABEL: func.func @transposed
// TWO: omp.parallel
// TWO: %[[NEAR:.*]] = arith.addi %{{.*}}, %c8
// TWO-NEXT: arith.divui %[[NEAR]], %c16
// Vectors of half a line read lines once.
// HALF-LABEL: func.func @transposed
// HALF: vector.load {{.*}} vector<8xf32>
// HALF: vector.load {{.*}} vector<8xf32>
// HALF-NEXT: llvm.inline_asm has_side_effects
// HALF: memref.prefetch
// HALF-COUNT-16: nontemporal = true
func.func @transposed(%A: memref<4096x4096xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #s>},
                  %B: memref<4096x4096xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #s>}) attributes {tir.prim_func} {
  %n = arith.constant 4096 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %n, %n) ({
      ^bb0(%vi: index, %vj: index):
        %a = memref.load %A[%vj, %vi] : memref<4096x4096xf32>
        memref.store %a, %B[%vi, %vj] : memref<4096x4096xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "transposed", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Rows of the result that are known to begin amid lines have plain stores alone, of the same blocks.
#a = affine_map<() -> (3001, 5003)>
#b = affine_map<() -> (5003, 3001)>
// CHECK-LABEL: func.func @turned_odd
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} step %c64
// CHECK-NOT: nontemporal
// CHECK-NOT: sfence
// CHECK: return
func.func @turned_odd(%A: memref<3001x5003xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], #a>},
                      %B: memref<5003x3001xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], #b>}) attributes {tir.prim_func} {
  %m = arith.constant 5003 : index
  %n = arith.constant 3001 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %m) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %m, %n) ({
      ^bb0(%vi: index, %vj: index):
        %a = memref.load %A[%vj, %vi] : memref<3001x5003xf32>
        memref.store %a, %B[%vi, %vj] : memref<5003x3001xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "transposed", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// With dynamic sizes, permuted rows have loops for both kinds of stores: non-temporal ones in blocks
// of twice as many rows.
#t = affine_map<()[s0, s1, s2] -> (s0, s1, s2)>
// CHECK-LABEL: func.func @swapped
// CHECK: [[PAST:%.*]] = arith.cmpi sge
// CHECK: scf.if [[PAST]] {
// CHECK: arith.muli {{.*}}, %c2
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.if [[PAST]]
// CHECK: nontemporal = true
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: nontemporal
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()
func.func @swapped(%A: memref<?x?x?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n", "m", "k"], #t>},
                   %B: memref<?x?x?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n", "k"], #t>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %m = "tir.symbol"() {value = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>} : () -> index
  %k = "tir.symbol"() {value = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %m) ({
  ^bb0(%j: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%i: index):
      "tir.for"(%c0, %k) ({
      ^bb0(%l: index):
        "tir.block"(%j, %i, %l, %m, %n, %k) ({
        ^bb0(%y: index, %x: index, %z: index):
          %a = memref.load %A[%x, %y, %z] : memref<?x?x?xf32>
          memref.store %a, %B[%y, %x, %z] : memref<?x?x?xf32>
          "tir.yield"() : () -> ()
        }, {
        }) {block_name = "swapped", iter_types = ["spatial", "spatial", "spatial"]} : (index, index, index, index, index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// A transpose of dynamic size tests once whether stores are non-temporal. Otherwise the size of blocks
// says whether it is out of cache.
#any = affine_map<()[s0, s1] -> (s0, s1)>
// CHECK-LABEL: func.func @transposed_any
// CHECK: [[FAR:%.*]] = arith.cmpi sge
// CHECK: [[PAST:%.*]] = arith.andi [[FAR]], {{.*}} : i1
// CHECK: scf.if [[PAST]] {
// CHECK-NOT: scf.if
// CHECK-COUNT-16: vector.load
// CHECK-COUNT-16: nontemporal = true
// CHECK: } else {
// CHECK-NOT: nontemporal
// CHECK: arith.select [[FAR]], %c64
// CHECK-NOT: scf.if
// CHECK-COUNT-16: vector.load
// CHECK-COUNT-16: vector.store
// CHECK-COUNT-16: vector.maskedload
// CHECK-NOT: vector.{{(masked)?}}load
// CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()
func.func @transposed_any(%A: memref<?x?xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<["n", "m"], #any>},
                      %B: memref<?x?xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<["m", "n"], #any>}) attributes {tir.prim_func} {
  %n = "tir.symbol"() {value = #relax.dims<["n"], affine_map<()[s0] -> (s0)>>} : () -> index
  %m = "tir.symbol"() {value = #relax.dims<["m"], affine_map<()[s0] -> (s0)>>} : () -> index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %m) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %m, %n) ({
      ^bb0(%vi: index, %vj: index):
        %a = memref.load %A[%vj, %vi] : memref<?x?xf32>
        memref.store %a, %B[%vi, %vj] : memref<?x?xf32>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "transposed", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// Of small elements a tile has as many rows as fill a register: 16 bytes of each of 64.
#small = affine_map<() -> (8192, 8192)>
// CHECK-LABEL: func.func @turned_bytes
// CHECK: scf.if
// CHECK-COUNT-64: vector.load {{.*}} vector<16xi8>
// CHECK: vector.shuffle {{.*}} vector<16xi8>, vector<16xi8>
// CHECK: vector.shuffle {{.*}} vector<32xi8>, vector<32xi8>
// CHECK-COUNT-16: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true} : {{.*}} vector<64xi8>
// CHECK: } else {
func.func @turned_bytes(%A: memref<8192x8192xi8> {tir.name = "A", tir.dtype = "int8", tir.shape = #relax.dims<[], #small>},
                        %B: memref<8192x8192xi8> {tir.name = "B", tir.dtype = "int8", tir.shape = #relax.dims<[], #small>}) attributes {tir.prim_func} {
  %n = arith.constant 8192 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %n) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j, %n, %n) ({
      ^bb0(%vi: index, %vj: index):
        %a = memref.load %A[%vj, %vi] : memref<8192x8192xi8>
        memref.store %a, %B[%vi, %vj] : memref<8192x8192xi8>
        "tir.yield"() : () -> ()
      }, {
      }) {block_name = "transposed", iter_types = ["spatial", "spatial"]} : (index, index, index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}

// -----

// What a map with functions reads and writes is prefetched where it comes from beyond L2, in loads
// of parts of lines.

// HALF-LABEL: func.func @powers
// HALF: memref.prefetch {{.*}}, read
// HALF: math.exp
// HALF: memref.prefetch {{.*}}, write
// HALF-NOT: nontemporal
// TWO-LABEL: func.func @powers
// TWO-NOT: memref.prefetch
// TWO-NOT: nontemporal
// CHECK-LABEL: func.func @powers
func.func @powers(%A: memref<1048576xf32> {tir.name = "A", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (1048576)>>},
                  %B: memref<1048576xf32> {tir.name = "B", tir.dtype = "float32", tir.shape = #relax.dims<[], affine_map<() -> (1048576)>>}) attributes {tir.prim_func} {
  %n = arith.constant 1048576 : index
  %c0 = arith.constant 0 : index
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.block"(%i, %n) ({
    ^bb0(%v: index):
      %a = memref.load %A[%v] : memref<1048576xf32>
      %x = math.exp %a : f32
      memref.store %x, %B[%v] : memref<1048576xf32>
      "tir.yield"() : () -> ()
    }, {
    }) {block_name = "powers", iter_types = ["spatial"]} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "serial"} : (index, index) -> ()
  return
}
