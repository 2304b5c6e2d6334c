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

// -----

// A failed assertion ends the loop around it, and what follows the loop; messages are numbered.

// CHECK: module attributes {tir.asserts = {{\[}}["asserts", "first"], ["asserts", "second"], ["one_after_another", "first"], ["one_after_another", "second"], ["one_after_another", "third"]]}
// CHECK-LABEL: func.func @asserts(
// CHECK-SAME: -> i32
// CHECK: %[[CELL:.*]] = memref.alloca() : memref<i32>
// CHECK: scf.for
// CHECK: memref.load %[[CELL]][]
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = arith.select
// CHECK-NEXT: memref.store %[[FIRST]], %[[CELL]][]
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf32>
// CHECK: memref.load %[[CELL]][]
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: %[[STATUS:.*]] = memref.load %[[CELL]][]
// CHECK-NEXT: return %[[STATUS]] : i32
func.func @asserts(%a: memref<?xf32>, %n: index, %x: f32, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    "tir.assert"(%ok) {message = "first"} : (i1) -> ()
    memref.store %x, %a[%i] : memref<?xf32>
  }
  "tir.assert"(%ok) {message = "second"} : (i1) -> ()
  return
}

// What is between two assertions stands under a condition of its own, and gives what is used after
// it; what is safe after a failure, and assertions themselves, need none.

// CHECK-LABEL: func.func @one_after_another(
// CHECK: arith.select
// CHECK: %[[USED:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK: memref.load
// CHECK: arith.select
// CHECK: } else {
// CHECK: }
// CHECK-NEXT: arith.addi
// CHECK: %[[OLD:.*]] = memref.load
// CHECK-NEXT: %[[NEW:.*]] = arith.select %{{.*}}, %[[OLD]]
// CHECK: arith.select %{{.*}}, %[[NEW]], %[[OLD]]
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[USED]]
func.func @one_after_another(%a: memref<?xf32>, %n: index, %ok: i1, %good: i1) {
  %c1 = arith.constant 1 : index
  "tir.assert"(%ok) {message = "first"} : (i1) -> ()
  %x = memref.load %a[%n] : memref<?xf32>
  "tir.assert"(%good) {message = "second"} : (i1) -> ()
  %next = arith.addi %n, %c1 : index
  "tir.assert"(%ok) {message = "third"} : (i1) -> ()
  memref.store %x, %a[%next] : memref<?xf32>
  return
}

// CHECK-LABEL: func.func @calls_in_a_loop(
// CHECK-SAME: -> i32
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[GOT:.*]] = func.call @asserts
// CHECK-NEXT: memref.store %[[GOT]]
func.func @calls_in_a_loop(%a: memref<?xf32>, %n: index, %x: f32, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @asserts(%a, %i, %x, %ok) : (memref<?xf32>, index, f32, i1) -> ()
  }
  return
}

// -----

// Allocations side by side are checked at once; what one of them is followed by is checked inside.

// CHECK-LABEL: func.func @several(
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK: %[[B:.*]] = memref.alloc(
// CHECK-NOT: scf.if
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[A]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[B]]
// CHECK: %[[STATUS:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: %[[GOT:.*]] = func.call @fails
// CHECK: %[[INNER:.*]] = scf.if %{{.*}} -> (i32) {
// CHECK: %[[C:.*]] = memref.alloc()
// CHECK: memref.extract_aligned_pointer_as_index %[[C]]
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[C]]
// CHECK: } else {
// CHECK: scf.yield %[[GOT]]
// CHECK: scf.yield %[[INNER]]
// CHECK: return %[[STATUS]] : i32
func.func @several(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<4xf32>
  %m = arith.addi %n, %n : index
  %b = memref.alloc(%m) : memref<?xf32>
  memref.store %x, %b[%c0] : memref<?xf32>
  call @fails(%n, %x) : (index, f32) -> ()
  %c = memref.alloc() : memref<8xf32>
  memref.store %x, %a[%c0] : memref<4xf32>
  memref.store %x, %c[%c0] : memref<8xf32>
  return
}

func.func @fails(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %b = memref.alloc(%n) : memref<?xf32>
  memref.store %x, %b[%c0] : memref<?xf32>
  return
}
