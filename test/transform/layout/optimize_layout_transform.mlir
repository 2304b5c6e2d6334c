// RUN: relax-opt %s --optimize-layout-transform | FileCheck %s

// A change of layout and the way back cancel, also through a chain.

// CHECK-LABEL: func.func @back
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%arg0)
// CHECK-NEXT: return %[[E]]
func.func @back(%x: tensor<6x16xf32>) -> tensor<6x16xf32> attributes {relax.function} {
  %a = "relax.layout_transform"(%x) {index_map = "lambda i, j: (j // 4, i, j % 4)"} : (tensor<6x16xf32>) -> tensor<4x6x4xf32>
  %b = "relax.layout_transform"(%a) {index_map = "lambda a, b, c: (a, b // 2, b % 2, c)"} : (tensor<4x6x4xf32>) -> tensor<4x3x2x4xf32>
  %c = "relax.layout_transform"(%b) {index_map = "lambda a, b, c, d: (a, b * 2 + c, d)"} : (tensor<4x3x2x4xf32>) -> tensor<4x6x4xf32>
  %d = "relax.layout_transform"(%c) {index_map = "lambda a, b, c: (b, a * 4 + c)"} : (tensor<4x6x4xf32>) -> tensor<6x16xf32>
  %e = "relax.exp"(%d) : (tensor<6x16xf32>) -> tensor<6x16xf32>
  return %e : tensor<6x16xf32>
}

// Two that lead elsewhere stay, though the shape is the same again.

// CHECK-LABEL: func.func @elsewhere
// CHECK-COUNT-2: "relax.layout_transform"
func.func @elsewhere(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.function} {
  %a = "relax.layout_transform"(%x) {index_map = "lambda i, j: (i * 4 + j,)"} : (tensor<4x4xf32>) -> tensor<16xf32>
  %b = "relax.layout_transform"(%a) {index_map = "lambda k: (k % 4, k // 4)"} : (tensor<16xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// A prim func between them is looked into only if it drops what a layout added.

func.func @remove_pad(%a: memref<16xf32>, %b: memref<14xf32>) attributes {tir.prim_func, tir.operator_name = "remove_pad"} { return }
func.func @other(%a: memref<16xf32>, %b: memref<14xf32>) attributes {tir.prim_func} { return }

// CHECK-LABEL: func.func @padding
// CHECK-NOT: "relax.layout_transform"
// CHECK: "relax.exp"(%arg0)
func.func @padding(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.function} {
  %a = "relax.layout_transform"(%x) {index_map = "lambda i, j: (i * 4 + j,)"} : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (14)>>>
  %t = builtin.unrealized_conversion_cast %a : tensor<16xf32> to tuple<tensor<16xf32>>
  %b = "relax.call_tir"(%s, %t) {callee = @remove_pad} : (!relax.shape<#relax.dims<[], affine_map<() -> (14)>>>, tuple<tensor<16xf32>>) -> tensor<14xf32>
  %c = "relax.layout_transform"(%b) {index_map = "lambda k: (k // 4, k % 4 )"} : (tensor<14xf32>) -> tensor<4x4xf32>
  %e = "relax.exp"(%c) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %e : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @kernel
// CHECK-COUNT-2: "relax.layout_transform"
func.func @kernel(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.function} {
  %a = "relax.layout_transform"(%x) {index_map = "lambda i, j: (i * 4 + j,)"} : (tensor<4x4xf32>) -> tensor<16xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (14)>>>
  %t = builtin.unrealized_conversion_cast %a : tensor<16xf32> to tuple<tensor<16xf32>>
  %b = "relax.call_tir"(%s, %t) {callee = @other} : (!relax.shape<#relax.dims<[], affine_map<() -> (14)>>>, tuple<tensor<16xf32>>) -> tensor<14xf32>
  %c = "relax.layout_transform"(%b) {index_map = "lambda k: (k // 4, k % 4)"} : (tensor<14xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}
