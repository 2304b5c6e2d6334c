// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512" --legalize-ops --lower-tir | FileCheck %s

// A row that an index says is copied as vectors; the index is read once, before the copy.

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#km = #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>
#n64 = #relax.dims<["n"], affine_map<()[s0] -> (s0, 64)>>
#k = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>

func.func @f(%x: tensor<?x?xf32, #nm>, %i: tensor<?xi64, #k>, %y: tensor<?x64xf32, #n64>) -> tuple<> attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<?x?xf32, #nm>, tensor<?xi64, #k>) -> tensor<?x?xf32, #km>
  %1 = "relax.cumsum"(%x) {axis = 1 : i64} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm>
  %2 = "relax.cumsum"(%x) {axis = 0 : i64} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm>
  %3 = "relax.cumsum"(%y) {axis = 0 : i64} : (tensor<?x64xf32, #n64>) -> tensor<?x64xf32, #n64>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// CHECK-LABEL: func.func private @take(
// CHECK: scf.for
// CHECK: %[[PLACE:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<?xi64>
// CHECK: arith.cmpi slt, %[[PLACE]]
// CHECK: arith.minsi
// CHECK: %[[ROW:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: scf.for
// CHECK: arith.muli %[[ROW]]
// CHECK: vector.load {{.*}} : memref<?xf32>, vector<16xf32>
// CHECK: vector.store {{.*}} : memref<?xf32>, vector<16xf32>
// CHECK: vector.maskedstore

// Along a row: each lane with those 1, 2, 4 and 8 before it, then with all before the vector. What goes
// on to the next vector is summed up from the last lane, without that sum.
// CHECK-LABEL: func.func private @cumsum(
// CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = vector.load
// CHECK: %[[BY1:.*]] = vector.shuffle %{{.*}}, %[[X]] [0, 16, 17
// CHECK: arith.addf %[[BY1]], %[[X]] : vector<16xf32>
// CHECK-COUNT-3: vector.shuffle
// CHECK: %[[OWN:.*]] = arith.addf
// CHECK: %[[LAST:.*]] = vector.shuffle %[[OWN]], %[[OWN]] [15, 15
// CHECK: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[LAST]] : vector<16xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[BEFORE]], %[[OWN]] : vector<16xf32>
// CHECK: vector.store %[[SUM]]
// CHECK: scf.yield %[[AFTER]]

// Along columns: some rows are walked from end to end, the sums so far read once for all of them.
// CHECK-LABEL: func.func private @cumsum1(
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} step %c2
// CHECK: %[[FIRST:.*]] = vector.load %[[KEPT:.*]][{{.*}}vector<64xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[FIRST]], %{{.*}} : vector<64xf32>
// CHECK: vector.store %[[NEXT]]
// CHECK: %[[LAST:.*]] = arith.addf %[[NEXT]], %{{.*}} : vector<64xf32>
// CHECK: vector.store %[[LAST]]
// CHECK: vector.store %[[LAST]], %[[KEPT]]

// A few columns stay in registers while rows go by.
// CHECK-LABEL: func.func private @cumsum2(
// CHECK: %[[FIRST:.*]] = vector.load {{.*}}vector<64xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]) -> (vector<64xf32>)
// CHECK: arith.addf %[[SUM]], %{{.*}} : vector<64xf32>
