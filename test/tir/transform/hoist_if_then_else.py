# RUN: %PYTHON %s | FileCheck %s
"""Pass `HoistIfThenElse`: conditions that a loop does not change go in front of it."""

from relax_mlir import tir, transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @alone
    # CHECK: ^bb0(%i: index):
    # CHECK: scf.if
    # CHECK: "tir.for"
    # CHECK: } else {
    # CHECK: "tir.for"
    @T.prim_func
    def alone(A: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            if i < 2:
                A[i, j] = T.float32(1)
            else:
                A[i, j] = T.float32(2)

    # CHECK-LABEL: func.func @beside
    # CHECK: "tir.for"
    # CHECK: scf.if
    # CHECK: func.func @alone
    # CHECK-LABEL: func.func @beside
    # CHECK: scf.if
    # CHECK: "tir.for"
    # CHECK: } else {
    # CHECK: "tir.for"
    @T.prim_func
    def beside(A: T.Buffer((8,), "float32"), N: T.Buffer((1,), "int32"), n: T.int64):
        for j in range(8):
            A[j] = T.float32(1)
            if n > 2:
                A[j] = T.float32(2)


print(tir.transform.HoistIfThenElse()(Module))
config = {"tir.HoistIfThenElse": {"support_block_scope_hosting": True}}
with transform.PassContext(config=config):
    print(tir.transform.HoistIfThenElse()(Module))
