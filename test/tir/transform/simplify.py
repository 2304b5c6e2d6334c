# RUN: %PYTHON %s | FileCheck %s
"""Pass `Simplify`: what the ranges of variables decide."""

from relax_mlir import tir
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # A quotient and a remainder of a split loop are its parts.
    # CHECK-LABEL: func.func @split
    # CHECK: ^bb0(%i: index):
    # CHECK: ^bb0(%j: index):
    # CHECK-NOT: floordivsi
    # CHECK: memref.load %A[%i, %j]
    # CHECK: memref.store %{{.*}}, %B[%i, %j]
    @T.prim_func
    def split(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            B[(i * 8 + j) // 8, (i * 8 + j) % 8] = A[T.min(i, 9), T.max(j, 0)]

    # A predicate that always holds goes, one that says something stays.
    # CHECK-LABEL: func.func @predicates
    # CHECK: "tir.block"
    # CHECK-NOT: "tir.where"
    # CHECK: block_name = "always"
    # CHECK: "tir.where"
    # CHECK: block_name = "sometimes"
    @T.prim_func
    def predicates(A: T.Buffer((32,), "float32"), B: T.Buffer((30,), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("always"):
                T.where(i * 8 + j < 32)
                v = T.axis.spatial(32, i * 8 + j)
                A[v] = T.float32(1)
        for i, j in T.grid(4, 8):
            with T.block("sometimes"):
                T.where(i * 8 + j < 30)
                v = T.axis.spatial(30, i * 8 + j)
                B[v] = T.float32(1)

    # Branches that are never, or always, taken; what a branch says is known in it.
    # CHECK-LABEL: func.func @branches
    # CHECK: scf.if
    # CHECK-NOT: scf.if
    # CHECK: memref.store
    # CHECK-NOT: scf.if
    # CHECK: return
    @T.prim_func
    def branches(A: T.Buffer((32,), "float32")):
        for i in range(32):
            if i < 0:
                A[i] = T.float32(1)
            if i < 5:  # noqa: SIM102
                if i < 7:
                    A[i] = T.float32(2)


print(tir.transform.Simplify()(Module))
