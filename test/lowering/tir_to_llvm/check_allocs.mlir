// RUN: relax-opt %s --check-allocs --split-input-file | FileCheck %s

// What follows an allocation runs only when there was memory.

// CHECK-LABEL: func.func @allocates(
// CHECK-SAME: -> i32
// CHECK: %[[BUFFER:.*]] = memref.alloc
// CHECK: memref.extract_aligned_pointer_as_index %[[BUFFER]]
// CHECK: %[[STATUS:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK: memref.store
// CHECK: } else {
// CHECK: return %[[STATUS]] : i32
func.func @allocates(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %b = memref.alloc(%n) : memref<?xf32>
  memref.store %x, %b[%c0] : memref<?xf32>
  return
}

// CHECK-LABEL: func.func @calls(
// CHECK-SAME: -> i32
// CHECK: %[[STATUS:.*]] = call @allocates
// CHECK: %[[OK:.*]] = arith.cmpi eq, %[[STATUS]]
// CHECK: scf.if %[[OK]] -> (i32)
func.func @calls(%n: index, %x: f32) {
  call @allocates(%n, %x) : (index, f32) -> ()
  return
}

// CHECK-LABEL: func.func @neither(
// CHECK-NOT: i32
// CHECK: return{{$}}
func.func @neither(%a: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  memref.store %x, %a[%c0] : memref<?xf32>
  return
}

// -----

// An allocation in a loop whose size does not depend on the loop moves out of it.

// CHECK-LABEL: func.func @in_a_loop(
// CHECK: memref.alloc
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @in_a_loop(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %x, %b[%i] : memref<?xf32>
  }
  return
}
