# RUN: %PYTHON %s | FileCheck %s
"""Pass `AlterOpImpl`: other prim funcs, on other layouts, for those of an operation."""

import numpy as np

from relax_mlir import relax, transform
from relax_mlir.errors import PassError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        T.func_attr({"operator_name": "relax.twice"})
        for i in range(14):
            with T.block("B"):
                v = T.axis.spatial(14, i)
                B[v] = A[v] * T.float32(2)

    @T.prim_func(private=True)
    def other(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(14):
            with T.block("B"):
                v = T.axis.spatial(14, i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((14,), "float32")):
        cls = Model
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((14,), "float32"))
            b = R.call_tir(cls.other, (a,), out_sinfo=R.Tensor((14,), "float32"))
            c = R.call_tir(cls.twice, (b,), out_sinfo=R.Tensor((14,), "float32"))
            R.output(c)
        return c


@T.prim_func(private=True)
def in_rows(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] + A[v, w]


def rows(i):
    return i // 4, i % 4


# The layout is larger than the tensor: what it adds is dropped again. Others stay.

# CHECK-LABEL: class Module:
# CHECK: def main(
# CHECK: [[IN:lv[0-9]*]]: R.Tensor((4, 4), dtype="float32") = R.layout_transform(x,
# CHECK: [[OUT:lv[0-9]*]] = R.call_tir(cls.relax_twice_replacement, ([[IN]],)
# CHECK: [[FLAT:lv[0-9]*]]: R.Tensor((16,), dtype="float32") = R.layout_transform([[OUT]],
# CHECK: R.call_tir(cls.remove_pad, ([[FLAT]],)
# CHECK: R.call_tir(cls.other,
# CHECK: R.layout_transform
# CHECK: R.call_tir(cls.relax_twice_replacement,
# CHECK: def relax_twice_replacement(
# CHECK-NEXT: T.func_attr({"operator_name": "relax.twice"})
# CHECK: def remove_pad(
altered = transform.AlterOpImpl({"relax.twice": in_rows}, {"relax.twice": [rows, rows]})(Model)
print(transform.DeadCodeElimination()(altered).script())

x = np.arange(14, dtype="float32")
# CHECK: same numbers: True
got = relax.VirtualMachine(relax.build(altered))["main"](x)
print("same numbers:", np.array_equal(got, (x * 2 + 1) * 2))

# CHECK: 'twice' has 2 buffers, its replacement for 'relax.twice' has 2, and there are 1 layouts
try:
    transform.AlterOpImpl({"relax.twice": in_rows}, {"relax.twice": [rows]})(Model)
except PassError as error:
    print(error)
