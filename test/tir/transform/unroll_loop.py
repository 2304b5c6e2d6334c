# RUN: %PYTHON %s | FileCheck %s
"""Pass `UnrollLoop` and its config."""

from relax_mlir import tir, transform
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @chosen
    # CHECK-NOT: "tir.for"
    # CHECK-COUNT-3: memref.store
    # CHECK-NOT: memref.store
    # CHECK: return
    @T.prim_func
    def chosen(A: T.Buffer((3,), "float32")):
        for i in T.unroll(3):
            A[i] = T.float32(1)

    # CHECK-LABEL: func.func @short
    # CHECK-COUNT-2: "tir.for"
    # CHECK-NOT: "tir.for"
    @T.prim_func
    def short(A: T.Buffer((5, 4), "float32")):
        for i in range(5):
            for j in range(4):
                A[i, j] = T.float32(1)


print(tir.transform.UnrollLoop()(Module))

# Loops that store no more than so often.
# CHECK-LABEL: func.func @short
# CHECK-COUNT-1: "tir.for"
# CHECK-NOT: "tir.for"
# CHECK-COUNT-4: memref.store
# CHECK-NOT: memref.store
# CHECK: return
with transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
    print(tir.transform.UnrollLoop()(Module))

# Loops of no more steps; only their kind changes.
# CHECK-LABEL: func.func @short
# CHECK: kind = "unrolled"
# CHECK: kind = "unrolled"
config = tir.transform.UnrollLoopConfig(auto_max_extent=5, explicit_unroll=False)
with transform.PassContext(config={"tir.UnrollLoop": config}):
    print(tir.transform.UnrollLoop()(Module))
