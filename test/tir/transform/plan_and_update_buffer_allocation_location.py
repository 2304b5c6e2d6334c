# RUN: %PYTHON %s | FileCheck %s
"""Pass `PlanAndUpdateBufferAllocationLocation`: buffers are allocated where they are used."""

from relax_mlir import tir
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @row
    # CHECK: "tir.for"
    # CHECK-NEXT: ^bb0
    # CHECK-NEXT: memref.alloc
    @T.prim_func
    def row(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        C = T.alloc_buffer((4, 8), "float32")
        for i in range(4):
            for j in range(8):
                C[i, j] = A[i, j] + T.float32(1)
            for j in range(8):
                B[i, j] = C[i, 7 - j]

    # What a step leaves to the next one stays outside.
    # CHECK-LABEL: func.func @carried
    # CHECK: memref.alloc
    # CHECK: "tir.for"
    @T.prim_func
    def carried(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        C = T.alloc_buffer((5,), "float32")
        for i in range(4):
            C[i + 1] = A[i]
            B[i] = C[i]


print(tir.transform.PlanAndUpdateBufferAllocationLocation()(Module))
