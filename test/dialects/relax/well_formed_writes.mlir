// RUN: relax-opt %s --well-formed --split-input-file --verify-diagnostics

// A prim func that writes one of its inputs cannot be called as a pure function.

func.func private @scale(%a: memref<4xf32> {tir.name = "A", tir.dtype = "float32"},
                         %b: memref<4xf32> {tir.name = "B", tir.dtype = "float32"}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  memref.store %x, %a[%c0] : memref<4xf32>
  memref.store %x, %b[%c0] : memref<4xf32>
  return
}

func.func @writes_its_input(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  // expected-error@+1 {{passes argument 0 to @scale, which writes it}}
  %y = "relax.call_tir"(%s, %t) {callee = @scale} : (!relax.shape<#relax.dims<[], affine_map<() -> (4)>>>, tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The write may hide in a prim func that it calls.

func.func private @inner(%a: memref<4xf32> {tir.name = "A", tir.dtype = "float32"}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 0.0 : f32
  memref.store %x, %a[%c0] : memref<4xf32>
  return
}

func.func private @outer(%a: memref<4xf32> {tir.name = "A", tir.dtype = "float32"},
                         %b: memref<4xf32> {tir.name = "B", tir.dtype = "float32"}) attributes {tir.prim_func} {
  call @inner(%a) : (memref<4xf32>) -> ()
  return
}

func.func @writes_below(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  // expected-error@+1 {{passes argument 0 to @outer, which writes it}}
  %y = "relax.call_tir"(%s, %t) {callee = @outer} : (!relax.shape<#relax.dims<[], affine_map<() -> (4)>>>, tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Reading an input and writing the output is what a call is for.

func.func private @copy(%a: memref<4xf32> {tir.name = "A", tir.dtype = "float32"},
                        %b: memref<4xf32> {tir.name = "B", tir.dtype = "float32"}) attributes {tir.prim_func} {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}

func.func @reads_its_input(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %y = "relax.call_tir"(%s, %t) {callee = @copy} : (!relax.shape<#relax.dims<[], affine_map<() -> (4)>>>, tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
