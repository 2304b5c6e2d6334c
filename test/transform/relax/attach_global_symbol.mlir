// RUN: relax-opt %s --attach-global-symbol | FileCheck %s

// Every function is public; those of TIR get the prefix that the module asks for.

// CHECK: func.func @lib_zero(
// CHECK-SAME: tir.prim_func
// CHECK: func.func @main()
// CHECK: callee = @lib_zero
module attributes {relax.system_lib_prefix = "lib_"} {
  func.func private @zero(%a: memref<2xf32> {tir.dtype = "float32", tir.name = "a", tir.shape = #relax.dims<[], affine_map<() -> (2)>>}) attributes {tir.prim_func} {
    %i = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    memref.store %z, %a[%i] : memref<2xf32>
    return
  }
  func.func private @main() -> tensor<2xf32> attributes {relax.function} {
    %s = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<[], affine_map<() -> (2)>>>
    %t = builtin.unrealized_conversion_cast to tuple<>
    %y = "relax.call_tir"(%s, %t) {callee = @zero} : (!relax.shape<#relax.dims<[], affine_map<() -> (2)>>>, tuple<>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
