# RUN: %PYTHON %s | FileCheck %s
"""Loops over loops without a step end at once: reductions along several axes of unknown lengths."""

from relax_mlir import transform
from relax_mlir.script import from_source

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"

# Nothing to ask where one axis is reduced, or lengths are known.
# CHECK-LABEL: func.func @rows(
# CHECK-NOT: sle
# CHECK-LABEL: func.func @ends(
# CHECK: [[ROWS:%.*]] = memref.dim
# CHECK: [[NONE:%.*]] = arith.cmpi sle, {{.*}}, %c0 : index
# CHECK-NEXT: [[END:%.*]] = arith.select [[NONE]], %c0, {{.*}} : index
# CHECK-NEXT: scf.for {{.*}} = %c0 to [[END]] step {{.*}} iter_args
# CHECK-NOT: arith.select {{.*}} : index
# Plain loops too.
# CHECK-LABEL: func.func @plain(
# CHECK: arith.cmpi sle, {{.*}} : index
# CHECK: [[END:%.*]] = arith.select {{.*}} : index
# CHECK-NEXT: scf.for {{.*}} to [[END]] step
SOURCE = """
@T.prim_func
def rows(a: T.handle, b: T.handle):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, 3, k), "float32")
    B = T.match_buffer(b, (n, 3), "float32")
    for i, j, l in T.grid(n, 3, k):
        with T.block("sum"):
            vi, vj, vl = T.axis.remap("SSR", [i, j, l])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vj, vl]

@T.prim_func
def ends(a: T.handle, B: T.Buffer((3,), "float32")):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, 3, k), "float32")
    for j, i, l in T.grid(3, n, k):
        with T.block("sum"):
            vj, vi, vl = T.axis.remap("SRR", [j, i, l])
            with T.init():
                B[vj] = T.float32(0)
            B[vj] = B[vj] + A[vi, vj, vl]

@T.prim_func
def plain(a: T.handle, B: T.Buffer((3,), "float32")):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, 3, k), "float32")
    for j, i, l in T.grid(3, n, k):
        with T.block("polynomial"):
            vj, vi, vl = T.axis.remap("SRR", [j, i, l])
            with T.init():
                B[vj] = T.float32(0)
            B[vj] = B[vj] * T.float32(0.5) + A[vi, vj, vl]
"""

print(transform.LowerTIR(target=TARGET)(from_source(SOURCE)))
