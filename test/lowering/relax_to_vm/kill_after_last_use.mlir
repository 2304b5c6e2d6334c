// RUN: relax-opt %s --lower-alloc-tensor --kill-after-last-use | FileCheck %s
// RUN: not relax-opt %s --kill-after-last-use --convert-to-dataflow=min-size=1 --kill-after-last-use 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: run to-non-dataflow first

!X = tensor<4xf32>
!S = !relax.shape<#relax.dims<[], affine_map<() -> (4)>>>

// The storage behind the tensor's allocation, the tensor behind the kernel that reads it last; what
// is returned stays.

// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = "vm.alloc_storage"
// CHECK-NEXT: %[[T:.*]] = "vm.alloc_tensor"(%[[M]]
// CHECK-NEXT: "vm.kill"(%[[M]])
// CHECK: %[[N:.*]] = "vm.alloc_storage"
// CHECK-NEXT: %[[U:.*]] = "vm.alloc_tensor"(%[[N]]
// CHECK-NEXT: "vm.kill"(%[[N]])
// CHECK: "vm.call"{{.*}}"second"
// CHECK-NEXT: "vm.kill"(%[[T]])
// CHECK-NOT: "vm.kill"
// CHECK: return %[[U]]
func.func @main(%x: !X) -> !X attributes {relax.function} {
  %s = "relax.shape_expr"() : () -> !S
  %t = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !X
  %a = builtin.unrealized_conversion_cast %x, %t : !X, !X to tuple<!X, !X>
  "vm.call"(%a) {func = "first"} : (tuple<!X, !X>) -> ()
  %u = "relax.alloc_tensor"(%s) {dtype = "float32"} : (!S) -> !X
  %b = builtin.unrealized_conversion_cast %t, %u : !X, !X to tuple<!X, !X>
  "vm.call"(%b) {func = "second"} : (tuple<!X, !X>) -> ()
  return %u : !X
}

// A use in a branch is one of the whole `if`; what a branch yields stays.

// CHECK-LABEL: func.func @branch
// CHECK: %[[T:.*]] = "relax.exp"
// CHECK: "relax.if"
// CHECK-NOT: "vm.kill"(%[[T]])
// CHECK: })
// CHECK-NEXT: "vm.kill"(%[[T]])
func.func @branch(%x: !X, %c: tensor<i1>) -> !X attributes {relax.function} {
  %t = "relax.exp"(%x) : (!X) -> !X
  %r = "relax.if"(%c) ({
    %y = "relax.negative"(%t) : (!X) -> !X
    "relax.yield"(%y) : (!X) -> ()
  }, {
    "relax.yield"(%x) : (!X) -> ()
  }) : (tensor<i1>) -> !X
  return %r : !X
}
