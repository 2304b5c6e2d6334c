# RUN: %PYTHON %s | FileCheck %s
"""Pass `LoopPartition`: a condition shortens its loop; whole tiles run without it."""

from relax_mlir import tir, transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @tiles
    # CHECK: ^bb0(%[[I:.*]]: index):
    # CHECK: %[[LEFT:.*]] = arith.maxsi
    # CHECK: %[[STEPS:.*]] = arith.minsi %c8{{.*}}, %[[LEFT]]
    # CHECK: %[[START:.*]] = arith.muli %[[I]], %c8
    # CHECK: %[[ROOM:.*]] = arith.subi %c30{{.*}}, %[[START]]
    # CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %[[ROOM]], %c8
    # CHECK: scf.if %[[WHOLE]] {
    # CHECK: "tir.for"(%c0{{.*}}, %c8{{[_0-9]*}})
    # CHECK-NOT: scf.if
    # CHECK: } else {
    # CHECK: "tir.for"(%c0{{.*}}, %[[STEPS]])
    # CHECK-NOT: scf.if
    # CHECK: return
    @T.prim_func
    def tiles(A: T.Buffer((30,), "float32")):
        for i in range(4):
            for j in T.vectorized(8):
                if i * 8 + j < 30:
                    A[i * 8 + j] = T.float32(1)

    # A serial loop of known extent is left alone, unless the config says otherwise.
    # CHECK-LABEL: func.func @known
    # CHECK: scf.if
    # CHECK: func.func @tiles
    # CHECK-LABEL: func.func @known
    # CHECK-NOT: scf.if
    @T.prim_func
    def known(A: T.Buffer((32,), "float32")):
        for i in range(32):
            if i < 30:
                A[i] = T.float32(1)


print(tir.transform.LoopPartition()(Module))
with transform.PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
    print(tir.transform.LoopPartition()(Module))
