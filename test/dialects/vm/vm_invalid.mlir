// RUN: relax-opt %s -split-input-file -verify-diagnostics

func.func @storage_size(%x: tensor<2xf32>) {
  // expected-error@+1 {{'vm.alloc_storage' op operand 0 must be !relax.shape or i64, got tensor<2xf32>}}
  %0 = "vm.alloc_storage"(%x) {device = "cpu"} : (tensor<2xf32>) -> !vm.storage
  return
}

// -----

func.func @storage_device(%n: i64) {
  // expected-error@+1 {{'vm.alloc_storage' op attribute 'device' must be a string, got None}}
  %0 = "vm.alloc_storage"(%n) : (i64) -> !vm.storage
  return
}

// -----

func.func @tensor_offset(%m: !vm.storage, %s: !relax.shape<unit>) {
  // expected-error@+1 {{'vm.alloc_tensor' op attribute 'offset' must be at least 0, got -4}}
  %0 = "vm.alloc_tensor"(%m, %s) {dtype = "float32", offset = -4 : i64} : (!vm.storage, !relax.shape<unit>) -> tensor<*xf32>
  return
}

// -----

func.func @tensor_dtype(%m: !vm.storage, %s: !relax.shape<unit>) {
  // expected-error@+1 {{'vm.alloc_tensor' op attribute 'dtype' is no dtype: unknown dtype 'float33'; did you mean 'float32'?}}
  %0 = "vm.alloc_tensor"(%m, %s) {dtype = "float33", offset = 0 : i64} : (!vm.storage, !relax.shape<unit>) -> tensor<*xf32>
  return
}

// -----

func.func @tensor_other_dtype(%m: !vm.storage, %s: !relax.shape<unit>) {
  // expected-error@+1 {{'vm.alloc_tensor' op result must be int8, got float32}}
  %0 = "vm.alloc_tensor"(%m, %s) {dtype = "int8", offset = 0 : i64} : (!vm.storage, !relax.shape<unit>) -> tensor<*xf32>
  return
}

// -----

func.func @tensor_rank(%m: !vm.storage, %s: !relax.shape<3 : i64>) {
  // expected-error@+1 {{'vm.alloc_tensor' op result must have 3 dimensions like its shape, got 2}}
  %0 = "vm.alloc_tensor"(%m, %s) {dtype = "float32", offset = 0 : i64} : (!vm.storage, !relax.shape<3 : i64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @call_arguments(%x: tensor<2xf32>) {
  // expected-error@+1 {{'vm.call' op operand 0 must be a tuple, got tensor<2xf32>}}
  "vm.call"(%x) {func = "f"} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @call_results(%t: tuple<>) {
  // expected-error@+1 {{'vm.call' op has 0 results, got 2}}
  %0:2 = "vm.call"(%t) {func = "f"} : (tuple<>) -> (i64, i64)
  return
}

// -----

func.func @heap_size() {
  // expected-error@+1 {{'vm.alloc_shape_heap' op attribute 'size' must be an i64, got 2 : i32}}
  %0 = "vm.alloc_shape_heap"() {size = 2 : i32} : () -> !vm.heap
  return
}

// -----

func.func @slots_kind(%x: tensor<2xf32>, %h: !vm.heap) {
  // expected-error@+1 {{'vm.store_shape' op attribute 'slots' must be array<i64>, got [0]}}
  "vm.store_shape"(%x, %h) {slots = [0]} : (tensor<2xf32>, !vm.heap) -> ()
  return
}

// -----

func.func @slots_count(%x: tensor<2xf32>, %h: !vm.heap) {
  // expected-error@+1 {{'vm.store_shape' op needs 1 slots for tensor<2xf32>, got 2}}
  "vm.store_shape"(%x, %h) {slots = array<i64: 0, 1>} : (tensor<2xf32>, !vm.heap) -> ()
  return
}

// -----

func.func @slots_negative(%x: tensor<2xf32>, %h: !vm.heap) {
  // expected-error@+1 {{'vm.assert_shape' op attribute 'slots' holds slots of the heap, or -1 for none, got -2}}
  "vm.assert_shape"(%x, %h) {slots = array<i64: -2>, context = "x"} : (tensor<2xf32>, !vm.heap) -> ()
  return
}

// -----

func.func @load_nothing(%h: !vm.heap) {
  // expected-error@+1 {{'vm.load_shape' op needs a slot of the heap for each dimension, got [0, -1]}}
  %0 = "vm.load_shape"(%h) {slots = array<i64: 0, -1>} : (!vm.heap) -> !relax.shape<unit>
  return
}

// -----

func.func @check_kind(%x: tensor<2xf32>) {
  // expected-error@+1 {{'vm.check' op attribute 'kind' must be one of tensor, shape, tuple, int, got 'tenser'}}
  "vm.check"(%x) {context = "x", dtype = "", kind = "tenser", ndim = -1 : i64} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @check_ndim(%x: tensor<2xf32>) {
  // expected-error@+1 {{'vm.check' op attribute 'ndim' must be at least -1, got -2}}
  "vm.check"(%x) {context = "x", dtype = "", kind = "tensor", ndim = -2 : i64} : (tensor<2xf32>) -> ()
  return
}
