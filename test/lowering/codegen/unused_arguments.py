# RUN: %PYTHON %s | FileCheck %s
"""Local functions are passed what they use, and callers make no more than that."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.lowering.codegen.llvm.unused_arguments import drop_unused_arguments

SOURCE = """
llvm.func internal @outer(%a: !llvm.ptr, %b: !llvm.ptr {llvm.noalias}, %n: i64, %m: i64) {
  %none = llvm.mlir.poison : !llvm.struct<(i64, i64)>
  %one = llvm.insertvalue %n, %none[0] : !llvm.struct<(i64, i64)>
  %both = llvm.insertvalue %m, %one[1] : !llvm.struct<(i64, i64)>
  %size = llvm.extractvalue %both[0] : !llvm.struct<(i64, i64)>
  %status = llvm.call @inner(%a, %b, %size) : (!llvm.ptr, !llvm.ptr, i64) -> i32
  llvm.store %status, %b : i32, !llvm.ptr
  llvm.return
}
llvm.func internal @inner(%a: !llvm.ptr, %b: !llvm.ptr {llvm.noalias}, %n: i64) -> i32 {
  %value = llvm.load %b : !llvm.ptr -> i32
  llvm.return %value : i32
}
llvm.func internal @pointed_to(%a: i64) { llvm.return }
llvm.func internal @whole(%a: i64) -> i64 { llvm.return %a : i64 }
llvm.func @exported(%a: !llvm.ptr, %n: i64) {
  llvm.call @outer(%a, %a, %n, %n) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  llvm.call @pointed_to(%n) : (i64) -> ()
  %0 = llvm.mlir.addressof @pointed_to : !llvm.ptr
  llvm.call %0(%n) : !llvm.ptr, (i64) -> ()
  %1 = llvm.call @whole(%n) : (i64) -> i64
  llvm.return
}
"""

# What only the other one uses is unused too; the function that was written first is called later.
# CHECK-LABEL: llvm.func internal @outer(
# CHECK-SAME: %[[B:.*]]: !llvm.ptr {llvm.noalias}) {
# CHECK-NEXT: %[[STATUS:.*]] = llvm.call @inner(%[[B]]) : (!llvm.ptr) -> i32
# CHECK-NEXT: llvm.store %[[STATUS]], %[[B]]
# CHECK-LABEL: llvm.func internal @inner(
# CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.noalias}) -> i32
# Others may call it, by its address.
# CHECK-LABEL: llvm.func internal @pointed_to(
# CHECK-SAME: i64)
# CHECK-LABEL: llvm.func internal @whole(
# CHECK-SAME: i64)
# CHECK-LABEL: llvm.func @exported(
# CHECK-SAME: %[[A:.*]]: !llvm.ptr, %[[N:.*]]: i64)
# CHECK-NEXT: llvm.call @outer(%[[A]]) : (!llvm.ptr) -> ()
# CHECK-NEXT: llvm.call @pointed_to(%[[N]])
with make_context(), ir.Location.unknown():
    module = ir.Module.parse(SOURCE)
    drop_unused_arguments(module.operation)
    assert module.operation.verify()
    print(module)
