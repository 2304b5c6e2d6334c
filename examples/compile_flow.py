"""The design document's compile flow: one function after each of the four lowering passes.

`myfunc` calls a TIR function of its module and a packed one, `flatten`, both through `call_tir`.
The passes make its effects, its memory and its shapes explicit, one floor after the other, until
what is left is what the virtual machine runs.
"""

from __future__ import annotations  # the annotations name shapes that only the script defines

import numpy as np

from relax_mlir import register_func, relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@register_func("flatten")
def flatten(x, out):
    out[:] = x.ravel()


@I.ir_module
class MyIRModule:
    # The document's handles are called `a` and `b` in the signature and `x` and `y` in the body.
    @T.prim_func
    def tirexp(x: T.handle, y: T.handle):
        n1, m1 = T.var("n1"), T.var("m1")
        X = T.match_buffer(x, (n1, m1))
        Y = T.match_buffer(y, (n1, m1))
        with T.block(n1, m1) as i, j:
            Y[i, j] = T.exp(X[i, j])

    @R.function
    def myfunc(x: Tensor[(n, m)]):
        with R.dataflow():
            lv0: Tensor[(n, m)] = R.call_tir((n, m), tirexp, [x])
            gv0: Tensor[(m * n,)] = R.call_tir((m * n,), "flatten", [lv0])
            R.outputs(gv0)
        return gv0


# What `vm.build` of the document runs.
PASSES = [
    relax.transform.ToNonDataflow(),
    relax.transform.CallTIRRewrite(),
    relax.transform.VMMemoryLower(),
    relax.transform.VMShapeLower(),
]


def show(title, module, *names):
    print(f"\n// {title}")
    for name in names:
        print(module[name].mlir_op.get_asm(use_name_loc_as_prefix=True))


def main():
    module = MyIRModule
    show("as written", module, "tirexp", "myfunc")
    for lower in PASSES:
        module = lower(module)
        show(f"after {lower.info.name}", module, "myfunc")
    show("the shape function that VMShapeLower made", module, "shape_func_myfunc")
    executable = relax.build(MyIRModule)
    print(f"\n// the virtual machine's instructions\n{executable.as_text()}")
    x = np.arange(6, dtype="float32").reshape(2, 3)
    result = relax.VirtualMachine(executable)["myfunc"](x)
    np.testing.assert_allclose(result, np.exp(x).ravel(), rtol=1e-6)
    print(f"\n// run: (2, 3) gives {result.shape}, equal to numpy's")


if __name__ == "__main__":
    main()
