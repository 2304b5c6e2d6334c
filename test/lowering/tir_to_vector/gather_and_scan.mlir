// RUN: relax-opt %s --legalize-ops --lower-tir | FileCheck %s

// A row that an index says is copied as vectors; the index is read once, before the copy.

#nm = #relax.dims<["m", "n"], affine_map<()[s0, s1] -> (s1, s0)>>
#km = #relax.dims<["k", "m"], affine_map<()[s0, s1] -> (s0, s1)>>
#k = #relax.dims<["k"], affine_map<()[s0] -> (s0)>>

func.func @f(%x: tensor<?x?xf32, #nm>, %i: tensor<?xi64, #k>) -> tuple<> attributes {relax.function} {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<?x?xf32, #nm>, tensor<?xi64, #k>) -> tensor<?x?xf32, #km>
  %1 = "relax.cumsum"(%x) {axis = 1 : i64} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm>
  %2 = "relax.cumsum"(%x) {axis = 0 : i64} : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// CHECK-LABEL: func.func private @take(
// CHECK: scf.for
// CHECK: %[[PLACE:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<?xi64>
// CHECK: arith.cmpi slt, %[[PLACE]]
// CHECK: arith.minsi
// CHECK: %[[ROW:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: arith.muli %[[ROW]]
// CHECK: vector.load {{.*}} : memref<?xf32>, vector<64xf32>
// CHECK: vector.store {{.*}} : memref<?xf32>, vector<64xf32>
// CHECK: vector.maskedstore

// Along a row: each lane with those 1, 2, 4 and 8 before it, then with all before the vector.
// CHECK-LABEL: func.func private @cumsum(
// CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = vector.load
// CHECK: %[[BY1:.*]] = vector.shuffle %{{.*}}, %[[X]] [0, 16, 17
// CHECK: arith.addf %[[BY1]], %[[X]] : vector<16xf32>
// CHECK-COUNT-3: vector.shuffle
// CHECK: %[[SUM:.*]] = arith.addf %[[BEFORE]], %{{.*}} : vector<16xf32>
// CHECK: vector.store %[[SUM]]
// CHECK: vector.shuffle %[[SUM]], %[[SUM]] [15, 15

// Along columns: sums of several vectors of them stay in registers.
// CHECK-LABEL: func.func private @cumsum1(
// CHECK: %[[FIRST:.*]] = vector.load {{.*}}vector<64xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]) -> (vector<64xf32>)
// CHECK: arith.addf %[[SUM]], %{{.*}} : vector<64xf32>
