# RUN: %PYTHON %s | FileCheck %s
"""Tiles of unknown sizes: predicates that bound the same elements keep no buffer large."""

from relax_mlir import tir
from relax_mlir.ir import assert_structural_equal
from relax_mlir.script import from_source
from relax_mlir.script import tir as T


@T.prim_func
def tiles(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 16), "float32")
    C = T.match_buffer(c, (n, 16), "float32")
    B = T.alloc_buffer((n, 16), "float32")
    D = T.alloc_buffer((n, 16), "float32")
    for io, jo in T.grid((n + 3) // 4, 2):
        for ii, ji in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(n, io * 4 + ii)
                vj = T.axis.spatial(16, jo * 8 + ji)
                T.where(io * 4 + ii < n)
                B[vi, vj] = A[vi, vj] + 1.0
        for ii, ji in T.grid(4, 8):
            with T.block("D"):
                vi = T.axis.spatial(n, io * 4 + ii)
                vj = T.axis.spatial(16, jo * 8 + ji)
                T.where(io * 4 + ii < n - 1)
                D[vi, vj] = B[vi, vj] * 2.0
        for ii, ji in T.grid(4, 8):
            with T.block("C"):
                vi = T.axis.spatial(n, io * 4 + ii)
                vj = T.axis.spatial(16, jo * 8 + ji)
                T.where(n > io * 4 + ii and jo * 8 + ji >= 1)
                C[vi, vj] = B[vi, vj] + D[vi, vj]


# `D` is read where no step has written it, so that what it held before counts.
# CHECK: D = T.alloc_buffer((n, 16), "float32")
# CHECK: for io, jo in T.grid
# CHECK-NEXT: B = T.alloc_buffer((4, 8), "float32")
# CHECK: B[ii, ji] = A[vi, vj] + 1.0
# CHECK: D[vi, vj] = B[ii, ji] * 2.0
# CHECK: C[vi, vj] = B[ii, ji] + D[vi, vj]
# CHECK: reads back
small = tir.transform.PlanAndUpdateBufferAllocationLocation()(tiles)
small = tir.transform.CompactBufferAllocation()(small)
print(small.script())
assert_structural_equal(from_source(small.script()), small)
print("reads back")
