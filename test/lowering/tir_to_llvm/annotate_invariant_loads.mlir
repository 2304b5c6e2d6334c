// RUN: relax-opt %s --annotate-invariant-loads | FileCheck %s

// A row's mean, computed from its sum in each step.
// CHECK: func.func @mean({{.*}} attributes {relax.invariant_loads}
func.func @mean(%sums: memref<?xf32>, %x: memref<?xf32>, %row: index, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.constant 768.0 : f32
  scf.for %i = %zero to %n step %one {
    %sum = memref.load %sums[%row] : memref<?xf32>
    %mean = arith.divf %sum, %count : f32
    %value = memref.load %x[%i] : memref<?xf32>
    %less = arith.subf %value, %mean : f32
    memref.store %less, %x[%i] : memref<?xf32>
  }
  return
}

// In a branch of a step it is the same.
// CHECK: func.func @guarded({{.*}} attributes {relax.invariant_loads}
func.func @guarded(%sums: memref<?xf32>, %x: memref<?xvector<8xf32>>, %t: i1, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    scf.if %t {
      %sum = memref.load %sums[%zero] : memref<?xf32>
      %all = vector.broadcast %sum : f32 to vector<8xf32>
      memref.store %all, %x[%i] : memref<?xvector<8xf32>>
    }
  }
  return
}

// The load alone costs no more than a register.
// CHECK: func.func @bias(
// CHECK-NOT: relax.invariant_loads
// CHECK-SAME: {
func.func @bias(%bias: memref<?xf32>, %x: memref<?xf32>, %row: index, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %more = memref.load %bias[%row] : memref<?xf32>
    %value = memref.load %x[%i] : memref<?xf32>
    %sum = arith.addf %value, %more : f32
    memref.store %sum, %x[%i] : memref<?xf32>
  }
  return
}

// What changes from step to step stays, and so does what is done once for a whole loop.
// CHECK: func.func @rows(
// CHECK-NOT: relax.invariant_loads
// CHECK-SAME: {
func.func @rows(%sums: memref<?xf32>, %x: memref<?x?xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %first = memref.load %sums[%zero] : memref<?xf32>
    %twice = arith.addf %first, %first : f32
    %sum = memref.load %sums[%i] : memref<?xf32>
    %negated = arith.negf %sum : f32
    %both = arith.addf %twice, %negated : f32
    scf.for %j = %zero to %n step %one {
      memref.store %both, %x[%i, %j] : memref<?x?xf32>
    }
  }
  return
}

// CHECK: func.func @no_loop(
// CHECK-NOT: relax.invariant_loads
// CHECK-SAME: {
func.func @no_loop(%x: memref<1xf32>) -> f32 {
  %zero = arith.constant 0 : index
  %value = memref.load %x[%zero] : memref<1xf32>
  %negated = arith.negf %value : f32
  return %negated : f32
}
