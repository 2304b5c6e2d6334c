# RUN: %PYTHON %s | FileCheck %s
"""Pass `AttachAttrLayoutFreeBuffers`: says at prim funcs which of their buffers are weights."""

import numpy as np

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

ONES = np.ones((8, 8), "float32")


@I.ir_module
class Model:
    # CHECK-LABEL: def add1(
    # CHECK-NEXT: T.func_attr({"layout_free_buffers": [0, 1]})
    # CHECK-LABEL: def add2(
    # CHECK-NEXT: T.func_attr({"layout_free_buffers": [1]})
    # CHECK-LABEL: def add(
    # CHECK-NOT: T.func_attr
    @T.prim_func(private=True)
    def add(
        A: T.Buffer((8, 8), "float32"),
        B: T.Buffer((8, 8), "float32"),
        C: T.Buffer((8, 8), "float32"),
    ):
        for i, j in T.grid(8, 8):
            with T.block("C"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = A[v, w] + B[v, w]

    # What depends on weights alone is a weight.
    # CHECK-LABEL: def main(
    # CHECK: a = R.call_tir(cls.add1, (w, w)
    # CHECK-NEXT: b = R.call_tir(cls.add2, (x, a)
    # CHECK-NEXT: c = R.call_tir(cls.add2, (b, R.const(
    # CHECK-NEXT: d = R.call_tir(cls.add, (b, c)
    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        R.func_attr({"num_input": 1})
        cls = Model
        with R.dataflow():
            a = R.call_tir(cls.add, (w, w), out_sinfo=R.Tensor((8, 8), "float32"))
            b = R.call_tir(cls.add, (x, a), out_sinfo=R.Tensor((8, 8), "float32"))
            c = R.call_tir(cls.add, (b, R.const(ONES)), out_sinfo=R.Tensor((8, 8), "float32"))
            d = R.call_tir(cls.add, (b, c), out_sinfo=R.Tensor((8, 8), "float32"))
            R.output(d)
        return d


print(transform.AttachAttrLayoutFreeBuffers()(Model).script())
