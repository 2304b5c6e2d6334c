"""The first program of the Relax design document: three kinds of function in one module.

A dataflow block with symbolic shapes calls a TIR function that the module defines; after the block
a packed function with side effects, here written in Python, changes the result in place.
"""

from __future__ import annotations  # the annotations name shapes that only the script defines

import numpy as np

from relax_mlir import register_func, relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@register_func("custom_inplace_update")
def custom_inplace_update(x):
    x *= 2


@I.ir_module
class MyIRModule:
    @T.prim_func
    def tir_exp_func(x: T.handle, y: T.handle):
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        with T.grid(n) as i:
            Y[i] = T.exp(X[i])

    @R.function
    def relax_func(x: R.Tensor[(n, k), "f32"], w: R.Tensor[_, "f32"]):
        # n, k above are implicitly defined by the signature
        # so we will be able to refer to n, k in the later part of the program
        with R.dataflow():
            lv0 = R.match_shape(w, (k, m))
            lv1: R.Tensor[(n, m), "f32"] = R.dot(x, lv0)
            lv2: R.Tensor[(n * m,), "f32"] = R.flatten(lv1)
            lv3: R.Shape = (n * m,)
            # The document has `gv0: R.Tensor[lv2, ...] = R.call_tir(lv2, tir_exp_func, [lv3])`: the
            # tensor where the shape goes and the other way round.
            gv0: R.Tensor[lv3, "f32"] = R.call_tir(lv3, tir_exp_func, [lv2])
            R.outputs(gv0)

        R.call_packed("custom_inplace_update", gv0)
        return gv0


def main():
    vm = relax.VirtualMachine(relax.build(MyIRModule))
    rng = np.random.default_rng(0)
    for n, k, m in ((2, 3, 4), (7, 1, 5), (0, 3, 3)):
        x = rng.random((n, k), dtype="float32")
        w = rng.random((k, m), dtype="float32")
        result = vm["relax_func"](x, w)
        np.testing.assert_allclose(result, 2 * np.exp(x @ w).ravel(), rtol=1e-6)
        print(f"({n}, {k}) by ({k}, {m}) gives {result.shape}, equal to numpy's")


if __name__ == "__main__":
    main()
