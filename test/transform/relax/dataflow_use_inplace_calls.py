# RUN: %PYTHON %s | FileCheck %s
"""Pass `DataflowUseInplaceCalls`: elementwise results are written over operands that are dead."""

import numpy as np

from relax_mlir import relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    # CHECK-LABEL: def chain(
    # CHECK: a{{.*}} = R.add(x, y)
    # CHECK-NEXT: b = R.call_tir_inplace(cls.multiply_inplace, (a, y), inplace_indices=[0],
    # CHECK-NEXT: c = R.call_tir_inplace(cls.silu_inplace, (b,), inplace_indices=[0],
    # CHECK-NEXT: d{{.*}} = R.exp(x)
    # CHECK-NEXT: e = R.call_tir_inplace(cls.subtract_inplace, (c, d), inplace_indices=[1],
    # CHECK-NEXT: f{{.*}} = R.greater(e, x)
    @R.function
    def chain(x: R.Tensor(("n", 5), "float32"), y: R.Tensor((1, 5), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, y)
            c = R.nn.silu(b)
            d = R.exp(x)
            e = R.subtract(c, d)
            f = R.greater(e, x)
            R.output(f)
        return f

    # What is needed later, given out, or shown by a view that is, stays as it is. So does what is
    # read twice by one kernel, which takes its buffers to be different.
    # CHECK-LABEL: def alive(
    # CHECK-NOT: inplace
    @R.function
    def alive(x: R.Tensor(("n", 5), "float32"), y: R.Tensor(("m", 5), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(a)
            c = R.reshape(b, (5, n))
            d = R.nn.relu(b)
            t = (d, b)
            e = R.add(d, d)
            f = R.nn.relu(t[1])
            g = R.add(R.exp(y), e)
            R.output(a, c, t, f, g)
        return (a, c, t, f, g)

    @T.prim_func(private=True)
    def scaled(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v, w] = X[v, w] * T.float32(2)

    @T.prim_func(private=True)
    def turned(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("Y"):
                v, w = T.axis.remap("SS", [i, j])
                Y[v, w] = X[w, v]

    # Kernels that read elsewhere stay.
    # CHECK-LABEL: def kernels(
    # CHECK: R.call_tir(cls.scaled, (x,)
    # CHECK-NEXT: R.call_tir_inplace(cls.scaled_inplace, (a,), inplace_indices=[0],
    # CHECK-NEXT: R.call_tir(cls.turned, (b,)
    @R.function
    def kernels(x: R.Tensor((4, 4), "float32")):
        cls = Model
        with R.dataflow():
            a = R.call_tir(cls.scaled, (x,), out_sinfo=R.Tensor((4, 4), "float32"))
            b = R.call_tir(cls.scaled, (a,), out_sinfo=R.Tensor((4, 4), "float32"))
            c = R.call_tir(cls.turned, (b,), out_sinfo=R.Tensor((4, 4), "float32"))
            R.output(c)
        return c


inplace = transform.DataflowUseInplaceCalls()(Model)
text = inplace.script()
print(*(inplace[name].script() for name in ("chain", "alive", "kernels")))
# CHECK: {{^}}left: False True
print("left:", "def multiply(" in text, "def scaled(" in text)


def arrays(value):
    if isinstance(value, tuple):
        return [part for field in value for part in arrays(field)]
    return [np.array(value)]


# CHECK-COUNT-9: same: True
before, after = (relax.VirtualMachine(relax.build(mod)) for mod in (Model, inplace))
for n in (0, 1, 7):
    x = np.random.default_rng(n).normal(size=(n, 5)).astype("float32")
    square = np.full((4, 4), n, "float32")
    inputs = {"chain": (x, np.ones((1, 5), "float32")), "alive": (x, x), "kernels": (square,)}
    for name, given in inputs.items():
        kept = arrays(given)
        pairs = zip(arrays(before[name](*given)), arrays(after[name](*given)), strict=True)
        same = all(np.array_equal(a, b) for a, b in pairs)
        print("same:", same and all(map(np.array_equal, kept, given)))
