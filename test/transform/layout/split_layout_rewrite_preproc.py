# RUN: %PYTHON %s | FileCheck %s
"""Pass `SplitLayoutRewritePreproc`: what lays out weights leaves prim funcs."""

import numpy as np

from relax_mlir import relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def kernel(
        X: T.Buffer((8, 8), "float32"),
        W: T.Buffer((8, 8), "float32"),
        V: T.Buffer((8, 8), "float32"),
        Out: T.Buffer((8, 8), "float32"),
    ):
        T.func_attr({"layout_free_buffers": [1, 2]})
        WT = T.alloc_buffer((8, 8), "float32")
        VT = T.alloc_buffer((2, 8, 4), "float32")
        XT = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("VT"):
                v, w = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                VT[w // 4, v, w % 4] = V[v, w]
        for i, j in T.grid(8, 8):
            with T.block("WT"):
                v, w = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True, "kept": 1})
                WT[w, v] = W[v, w]
        for i, j in T.grid(8, 8):
            with T.block("XT"):
                v, w = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                XT[w, v] = X[v, w]
        for i, j in T.grid(8, 8):
            with T.block("Out"):
                v, w = T.axis.remap("SS", [i, j])
                Out[v, w] = X[v, w] * XT[w, v] + WT[w, v] - VT[w // 4, v, w % 4]

    @R.function
    def main(
        x: R.Tensor((8, 8), "float32"),
        w: R.Tensor((8, 8), "float32"),
        v: R.Tensor((8, 8), "float32"),
    ):
        R.func_attr({"num_input": 1})
        cls = Model
        with R.dataflow():
            y = R.call_tir(cls.kernel, (x, w, v), out_sinfo=R.Tensor((8, 8), "float32"))
            z = R.call_tir(cls.kernel, (y, w, v), out_sinfo=R.Tensor((8, 8), "float32"))
            R.output(z)
        return z


# A buffer that is read elsewhere too, as X is, keeps its nest.

# CHECK: def kernel_weight_prepack(
# CHECK: with T.block("VT"):
# CHECK-NOT: layout_rewrite_preproc
# CHECK: with T.block("WT"):
# CHECK: T.block_attr({"kept": 1})
# CHECK: def kernel_prepacked(
# CHECK-NOT: T.func_attr
# CHECK: with T.block("XT"):
# CHECK: layout_rewrite_preproc
# CHECK: with T.block("Out"):
# CHECK-LABEL: def main(
# CHECK: [[P:lv[0-9]*]] = R.call_tir(cls.kernel_weight_prepack, (w, v),
# CHECK-SAME: [R.Tensor((2, 8, 4), dtype="float32"), R.Tensor((8, 8), dtype="float32")]
# CHECK-NEXT: [[V:lv[0-9]*]]: R.Tensor((2, 8, 4), dtype="float32") = [[P]][0]
# CHECK-NEXT: [[W:lv[0-9]*]]: R.Tensor((8, 8), dtype="float32") = [[P]][1]
# CHECK-NEXT: y = R.call_tir(cls.kernel_prepacked, (x, [[W]], [[V]])
split = transform.SplitLayoutRewritePreproc()(Model)
print(split.script())

# CHECK-LABEL: The weights are laid out by a function of their own.
# CHECK: (2, 8, 4) (8, 8)
# CHECK: True
print("The weights are laid out by a function of their own.")
vm = relax.VirtualMachine(relax.build(transform.LiftTransformParams()(split)))
x, w, v = np.random.default_rng(0).normal(size=(3, 8, 8)).astype("float32")
weights = vm["main_transform_params"]((w, v))
print(*sorted((each.shape for each in weights), key=len, reverse=True))
y = x * x + w - v
print(np.allclose(vm["main"](x, *weights), y * y + w - v, rtol=1e-5))
