// RUN: relax-opt %s --lower-alloc-tensor | FileCheck %s

#n = affine_map<()[s0] -> (s0, 4)>
!X = tensor<?x4xf32, #relax.dims<["n"], #n>>
!S = !relax.shape<#relax.dims<["n"], #n>>

// A storage of the bytes, and the tensor in it; nothing is released.

// CHECK-LABEL: func.func @main
// CHECK: "relax.shape_expr"()
// CHECK-NEXT: %[[B:.*]] = "relax.shape_expr"() : () -> !relax.shape<#relax.dims<["n"], #[[BYTES:.*]]>>
// CHECK: %[[M:.*]] = "vm.alloc_storage"(%[[B]]) {device = "cpu"}
// CHECK: %[[T:.*]] = "vm.alloc_tensor"(%[[M]], %{{.*}}) {dtype = "float32", offset = 0 : i64}
// CHECK-NOT: vm.kill
// CHECK: return
func.func @main(%x: !X) -> !X attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %t = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !X
  %a = builtin.unrealized_conversion_cast %x, %t : !X, !X to tuple<!X, !X>
  "vm.call"(%a) {func = "kernel"} : (tuple<!X, !X>) -> ()
  return %x : !X
}
