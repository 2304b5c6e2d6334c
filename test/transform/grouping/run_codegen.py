# RUN: %PYTHON %s | FileCheck %s
"""Pass `RunCodegen`: a library compiles functions, and the program calls what it returns."""

import numpy as np

from relax_mlir import errors, register_func, transform
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    # CHECK: options: {'level': 3}
    # CHECK-LABEL: def main(x: R.Tensor(("n", 4), dtype="float32"))
    # CHECK: y = R.call_dps_packed("{{doubled_[0-9a-f]+}}", (x,),
    # CHECK-NOT: def doubled
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Model
        with R.dataflow():
            y: R.Tensor((n, 4), "float32") = cls.doubled(x)
            R.output(y)
        return y

    @R.function
    def doubled(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        R.func_attr({"Codegen": "sample"})
        y = R.add(x, x)
        return y

    # CHECK-NOT: def kept
    @R.function(private=True)
    def kept(x: R.Tensor((4,), "float32")):
        return R.exp(x)


@register_func("relax.ext.sample")
def compile_sample(functions, options):
    print("# options:", options)
    return [lambda x, out: np.add(x, x, out=out) for _ in functions]


print(transform.RunCodegen({"sample": {"level": 3}})(Model).script())
# An entry function stays, a private one too.
# CHECK: ['kept', 'main']
print(sorted(transform.RunCodegen(entry_functions=["kept"])(Model).function_names))
# CHECK: nothing compiles functions for 'nobody'; register what does
text = Model.script().replace('"sample"', '"nobody"')
try:
    transform.RunCodegen()(from_source(text))
except errors.RelaxMLIRError as error:
    print(error)
