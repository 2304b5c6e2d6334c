// RUN: relax-opt %s --reorder-resize-after-conv | FileCheck %s

#s = affine_map<() -> (6, 10)>
!S = !relax.shape<#relax.dims<[], #s>>
!X = tensor<1x4x3x5xf32>
!Y = tensor<1x4x6x10xf32>
!Z = tensor<1x2x6x10xf32>
!W = tensor<2x4x1x1xf32>
!B = tensor<2x1x1xf32>

// CHECK-LABEL: func.func @moved
// CHECK-SAME: (%[[X:[^:]*]]: tensor<1x4x3x5xf32>, %[[W:[^:]*]]: tensor<2x4x1x1xf32>, %[[B:[^:]*]]:
// CHECK: %[[C:.*]] = "relax.conv2d"(%[[X]], %[[W]])
// CHECK-NEXT: %[[S:.*]] = "relax.add"(%[[C]], %[[B]])
// CHECK-NEXT: %[[Z:.*]] = "relax.resize2d"(%[[S]],
// CHECK-NEXT: return %[[Z]]
func.func @moved(%x: !X, %w: !W, %b: !B) -> !Z attributes {relax.function} {
  %size = "relax.shape_expr"() : () -> !S
  %y = "relax.resize2d"(%x, %size) {method = "linear"} : (!X, !S) -> !Y
  %c = "relax.conv2d"(%y, %w) : (!Y, !W) -> !Z
  %z = "relax.add"(%c, %b) : (!Z, !B) -> !Z
  return %z : !Z
}

// The image is a result of its own.

// CHECK-LABEL: func.func @kept
// CHECK: "relax.resize2d"
// CHECK-NEXT: "relax.conv2d"
func.func @kept(%x: !X, %w: !W) -> (!Y, !Z) attributes {relax.function} {
  %size = "relax.shape_expr"() : () -> !S
  %y = "relax.resize2d"(%x, %size) {method = "linear"} : (!X, !S) -> !Y
  %z = "relax.conv2d"(%y, %w) : (!Y, !W) -> !Z
  return %y, %z : !Y, !Z
}
