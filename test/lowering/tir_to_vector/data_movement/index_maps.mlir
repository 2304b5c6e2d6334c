// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server" --legalize-ops --lower-tir | FileCheck %s
// RUN: relax-opt %s --target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver5" --legalize-ops --lower-tir | FileCheck %s --check-prefix=SINGLE

// Lanes that are reversed or strided are shuffled, computed ones gathered.

func.func @f(%x: tensor<8x64xf32>, %y: tensor<8x21xf32>, %i: tensor<8x64xi64>, %z: tensor<1x7x9x64xf32>) -> tuple<> attributes {relax.function} {
  %xy = builtin.unrealized_conversion_cast %x, %y : tensor<8x64xf32>, tensor<8x21xf32> to tuple<tensor<8x64xf32>, tensor<8x21xf32>>
  %0 = "relax.flip"(%x) {axis = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = "relax.gather_elements"(%x, %i) {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x64xi64>) -> tensor<8x64xf32>
  %2 = "relax.pad"(%x) {pad_width = array<i64: 0, 0, 2, 3>, pad_mode = "reflect"} : (tensor<8x64xf32>) -> tensor<8x69xf32>
  %3 = "relax.repeat"(%x) {repeats = 2 : i64, axis = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x128xf32>
  %c = "relax.constant"() {value = dense<3> : tensor<8x64xi64>} : () -> tensor<8x64xi64>
  %4 = "relax.gather_elements"(%x, %c) {axis = 1 : i64} : (tensor<8x64xf32>, tensor<8x64xi64>) -> tensor<8x64xf32>
  %5 = "relax.concat"(%xy) {axis = 1 : i64} : (tuple<tensor<8x64xf32>, tensor<8x21xf32>>) -> tensor<8x85xf32>
  %6 = "relax.adaptive_avg_pool2d"(%z) {output_size = array<i64: 5, 4>, layout = "NHWC"} : (tensor<1x7x9x64xf32>) -> tensor<1x5x4x64xf32>
  %r = builtin.unrealized_conversion_cast to tuple<>
  return %r : tuple<>
}

// CHECK-LABEL: func.func private @flip(
// CHECK: %[[READ:.*]] = vector.load
// CHECK: vector.shuffle %[[READ]], %[[READ]] [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

// CHECK-LABEL: func.func private @gather_elements(
// CHECK: arith.minsi {{.*}} : vector<16xi64>
// CHECK: vector.gather {{.*}} into vector<16xf32>

// Where gathers are slow, lanes are loaded one by one: constant places without a vector of them.
// SINGLE-LABEL: func.func private @gather_elements(
// SINGLE: %[[PLACES:.*]] = arith.addi {{.*}} : vector<16xindex>
// SINGLE: vector.extract %[[PLACES]][15]
// SINGLE: vector.insert
// SINGLE-LABEL: func.func private @gather_elements1(
// SINGLE-NOT: vector.extract
// SINGLE: %[[PLACE:.*]] = memref.load {{.*}} : memref<512xi32>
// SINGLE-NEXT: arith.index_cast %[[PLACE]]
// SINGLE: vector.insert

// All pieces of a row before the next row.
// CHECK-LABEL: func.func private @pad(
// CHECK: scf.for {{.*}} to %c8{{(_[0-9]+)?}} step
// CHECK: vector.maskedload
// CHECK-NEXT: vector.shuffle
// CHECK: vector.maskedstore
// CHECK-NOT: to %c8{{(_[0-9]+)?}} step
// CHECK: vector.load
// CHECK: vector.store
// CHECK: vector.maskedload
// CHECK-NEXT: vector.shuffle
// CHECK: vector.maskedstore

// CHECK-LABEL: func.func private @repeat(
// CHECK: %[[HALF:.*]] = vector.load {{.*}} vector<16xf32>
// CHECK: vector.shuffle %[[HALF]], %[[HALF]] [0, 0, 1, 1, 2, 2,
// CHECK: vector.store {{.*}} vector<32xf32>

// A row of what is joined is written from its beginning to its end, whatever its parts come from.
// CHECK-LABEL: func.func private @concat(
// CHECK: scf.for {{.*}} to %c8{{(_[0-9]+)?}} step
// CHECK: vector.load
// CHECK-NOT: to %c8{{(_[0-9]+)?}} step
// CHECK: vector.maskedstore
// CHECK: return

// The bounds of a window are numbers, which are no reason for shorter vectors of what it sums.
// CHECK-LABEL: func.func private @adaptive_avg_pool2d(
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
