# RUN: %PYTHON %s | FileCheck %s
"""Pass `SpecializePrimFuncBasedOnCallSite`: prim funcs for the sizes that calls pass."""

import numpy as np

from relax_mlir import relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def shifted(a: T.handle, b: T.handle, c: T.handle, k: T.int64, d: T.int64):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] + T.Cast("float32", k)
        for i, j in T.grid(n, m):
            with T.block("C"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = A[v, w] - T.Cast("float32", d)

    # What the caller does not know as a number stays a symbol, and is passed.
    # CHECK-LABEL: def main(
    # CHECK: R.call_tir(cls.shifted1, (x,), {{.*}}, tir_vars=R.shape([n]))
    # CHECK: R.call_tir(cls.shifted2, (y,), out_ty=[R.Tensor((4, 8), dtype="float32"),
    # CHECK-SAME: R.Tensor((4, 8), dtype="float32")]){{$}}
    # CHECK: R.call_tir(cls.shifted1, ({{.*}}, tir_vars=R.shape([n]))
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor((4, 8), "float32")):
        n = T.int64()
        cls = Model
        with R.dataflow():
            a = R.call_tir(
                cls.shifted,
                (x,),
                out_sinfo=[R.Tensor((n, 8), "float32"), R.Tensor((n, 8), "float32")],
                tir_vars=R.shape([3, n]),
            )
            b = R.call_tir(
                cls.shifted,
                (y,),
                out_sinfo=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")],
                tir_vars=R.shape([3, 5]),
            )
            c = R.call_tir(
                cls.shifted,
                (a[0],),
                out_sinfo=[R.Tensor((n, 8), "float32"), R.Tensor((n, 8), "float32")],
                tir_vars=R.shape([3, n]),
            )
            R.output(b, c)
        return (b[0], b[1], c[0], c[1])


special = transform.SpecializePrimFuncBasedOnCallSite()(Model)
print(special.script())

# CHECK-LABEL: the same numbers
# CHECK-NEXT: True
# CHECK-NEXT: True
print("the same numbers")
before, after = (relax.VirtualMachine(relax.build(mod))["main"] for mod in (Model, special))
for n in (0, 5):
    x, y = np.full((n, 8), 2, "float32"), np.ones((4, 8), "float32")
    print(all(map(np.array_equal, before(x, y), after(x, y))))
