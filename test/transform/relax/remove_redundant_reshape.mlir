// RUN: relax-opt %s --remove-redundant-reshape --dead-code-elimination | FileCheck %s

#ab = affine_map<()[s0, s1] -> (s0, s1)>
#flat = affine_map<()[s0, s1] -> (s0 * s1)>
!X = tensor<?x?xf32, #relax.dims<["a", "b"], #ab>>
!Y = tensor<?xf32, #relax.dims<["a", "b"], #flat>>
!SX = !relax.shape<#relax.dims<["a", "b"], #ab>>
!SY = !relax.shape<#relax.dims<["a", "b"], #flat>>

// Of two in a row the last one stays.

// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[X:.*]]: tensor<2x6xf32>)
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[X]], %{{.*}}) : {{.*}} -> tensor<3x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @two(%x: tensor<2x6xf32>) -> tensor<3x4xf32> attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (12)>>>
  %t = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (3, 4)>>>
  %a = "relax.reshape"(%x, %s) : (tensor<2x6xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (12)>>>) -> tensor<12xf32>
  %b = "relax.reshape"(%a, %t) : (tensor<12xf32>, !relax.shape<#relax.dims<[], affine_map<() -> (3, 4)>>>) -> tensor<3x4xf32>
  return %b : tensor<3x4xf32>
}

// There and back again is nothing, also for symbolic sizes and in a dataflow block, which is then empty.

// CHECK-LABEL: func.func @back
// CHECK-SAME: (%[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @back(%x: !X) -> !X attributes {relax.function} {
  %sx = "relax.shape_expr"() : () -> !SX
  %sy = "relax.shape_expr"() : () -> !SY
  %d = "relax.dataflow"() ({
    %y = "relax.reshape"(%x, %sy) : (!X, !SY) -> !Y
    %z = "relax.reshape"(%y, %sx) : (!Y, !SX) -> !X
    "relax.output"(%z) : (!X) -> ()
  }) : () -> !X
  return %d : !X
}

// What an impure call may write to stays a tensor of its own.

// CHECK-LABEL: func.func @written
// CHECK: "relax.reshape"
// CHECK: "relax.call_packed"
func.func @written(%x: !X) -> !X attributes {relax.function} {
  %sx = "relax.shape_expr"() : () -> !SX
  %y = "relax.reshape"(%x, %sx) : (!X, !SX) -> !X
  %t = builtin.unrealized_conversion_cast %y : !X to tuple<!X>
  %c = "relax.call_packed"(%t) {func = "update"} : (tuple<!X>) -> !relax.object
  return %x : !X
}
