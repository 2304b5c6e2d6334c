# RUN: %PYTHON %s | FileCheck %s
"""Reductions of several values: lanes of results, or steps that keep the first one."""

from collections.abc import Callable
from typing import Any

from relax_mlir import te, tir, transform
from relax_mlir.ir.module import IRModule

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"


def first(x: te.Tensor, at: Callable[[Any, Any], Any], rows: int, count: int) -> IRModule:
    """Return the first of the largest elements and its place."""
    reducer = te.comm_reducer(
        lambda a, b: (tir.Select(a[1] >= b[1], a[0], b[0]), tir.max(a[1], b[1])),
        lambda place, value: (te.const(-1, place), te.min_value(value)),
    )
    k = te.reduce_axis((0, count), "k")
    outs = te.compute((rows,), lambda i: reducer((k, at(i, k)), axis=k))
    return te.create_prim_func([x, *outs])


# Lanes of results combine in the order of the loops.
# CHECK-LABEL: func.func @main
# CHECK: scf.for {{.*}} -> (vector<{{[0-9]+}}xi64>, vector<{{[0-9]+}}xf32>)
# CHECK: arith.cmpf oge, {{.*}} : vector
# CHECK: vector.store {{.*}}xi64>
# CHECK: vector.store {{.*}}xf32>
x = te.placeholder((16, 64), name="X")
print(transform.LowerTIR(target=TARGET)(first(x, lambda i, k: x[k, i], 64, 16)))

# Lanes of steps carry from which step they are; every second element is picked by a shuffle.
# CHECK-LABEL: func.func @main
# CHECK: scf.for {{.*}} -> (vector<[[N:[0-9]+]]xi64>, vector<[[N]]xf32>, vector<[[N]]xi32>,
# CHECK: vector.shuffle
# CHECK: arith.select {{.*}} : vector<[[N]]xi1>, vector<[[N]]xi32>
# CHECK: arith.cmpi slt, {{.*}}xi32>
# CHECK: memref.store {{.*}} : memref<16xi64>
y = te.placeholder((16, 128), name="X")
print(transform.LowerTIR(target=TARGET)(first(y, lambda i, k: y[i, k * 2], 16, 64)))
