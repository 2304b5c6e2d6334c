# RUN: %PYTHON %s | FileCheck %s
"""Pass `FuseOps`: functions of calls of prim funcs whose pattern kinds fit."""

import numpy as np

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def fuse(module, **options):
    prepare = [transform.LegalizeOps(), transform.AnnotateTIROpPattern()]
    passes = [*prepare, transform.FuseOps(**options)]
    made = transform.Sequential(passes)(module)
    made.verify()
    print(made.script())


@I.ir_module
class Diamond:
    # A matrix product takes what is elementwise behind it, over both paths; the constant becomes a
    # parameter.
    # CHECK-LABEL: def main(x:
    # CHECK: [[Y:[a-z0-9]+]]: {{.*}} = cls.fused_matmul_add_exp_tanh_multiply(x, w, R.const(
    # CHECK-NEXT: R.output([[Y]])
    # CHECK-LABEL: def fused_matmul_add_exp_tanh_multiply(x: {{.*}}, w: {{.*}}, param_0:
    # CHECK: R.func_attr({"Primitive": True})
    # CHECK: R.call_tir(cls.matmul, (x, w)
    # CHECK: R.call_tir(cls.add, ({{.*}}, param_0)
    # CHECK: R.call_tir(cls.multiply
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 6), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.add(a, R.const(np.ones(6, "float32")))
            c = R.exp(b)
            d = R.tanh(b)
            y = R.multiply(c, d)
            R.output(y)
        return y


fuse(Diamond)

# Nothing is fused at level 0.
# CHECK-LABEL: def main(x:
# CHECK-NOT: fused
# CHECK: return
fuse(Diamond, fuse_opt_level=0)

# A limit on how many operations one function has.
# CHECK-LABEL: def main(x:
# CHECK: cls.fused_
# CHECK: cls.fused_
with transform.PassContext(config={"relax.FuseOps.max_depth": 3}):
    fuse(Diamond)


@I.ir_module
class Leaves:
    # What is used elsewhere is computed once: each of these is a result of the block.
    # CHECK-LABEL: def main(x:
    # CHECK: cls.fused_exp_tanh(x)
    # CHECK: R.call_tir(cls.cos
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            c = R.cos(b)
            R.output(b, c)
        return b, c


fuse(Leaves)


@I.ir_module
class Symbols:
    # What the function's parameters do not tell is passed beside them.
    # CHECK-LABEL: def main(s:
    # CHECK: cls.fused_full_exp(R.const({{.*}}), R.shape([n, m]))
    # CHECK-LABEL: def fused_full_exp(param_0: {{.*}}, tir_vars: R.Shape(["n", "m"])
    @R.function
    def main(s: R.Shape(["n", "m"])):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.full(R.shape([n, m]), R.const(2.0), "float32")
            b = R.exp(a)
            R.output(b)
        return b


fuse(Symbols)


@I.ir_module
class Bound:
    # What mentions a symbol stays behind what gives it its value.
    # CHECK-LABEL: def main(x:
    # CHECK: R.call_tir(cls.exp
    # CHECK: R.match_cast({{.*}}, R.Tensor((m,)
    # CHECK: cls.fused_tanh_cos(
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(dtype="float32", ndim=1)):
        m = T.int64()
        with R.dataflow():
            a = R.exp(x)
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            b = R.tanh(z)
            c = R.cos(b)
            R.output(a, c)
        return a, c


fuse(Bound)


@I.ir_module
class Fields:
    # Fields of tuples alone are no function.
    # CHECK-LABEL: def main(t:
    # CHECK-NOT: fused
    # CHECK: return
    @R.function
    def main(t: R.Tuple(R.Tuple(R.Tensor((4,), "float32")))):
        with R.dataflow():
            a = t[0]
            b = a[0]
            R.output(b)
        return b


fuse(Fields)
