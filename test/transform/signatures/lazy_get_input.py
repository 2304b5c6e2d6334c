# RUN: %PYTHON %s | FileCheck %s
"""Pass `LazyGetInput`: weights are loaded where they are used."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(x: R.Tensor((4,), dtype="float32"), fget_param: R.Any)
    # CHECK: "num_input": 2
    # CHECK: R.str("b")
    # CHECK: R.Any = fget_param(1, {{.*}})
    # CHECK: b = R.match_cast({{.*}}, R.Tensor((n,), dtype="float32"))
    # CHECK: y: {{.*}} = R.exp(b)
    # CHECK: R.Any = fget_param(0, {{.*}})
    # CHECK-NOT: fget_param
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), a: R.Tensor((4,), "float32"),
        b: R.Tensor(("n",), "float32"), unused: R.Tensor((9,), "float32"),
    ):  # fmt: skip
        R.func_attr({"num_input": 1})
        y = R.exp(b)
        z = R.add(x, a)
        return (y, z, a)

    # Inside a dataflow block nothing is called that may have an effect.
    # CHECK-LABEL: def block(fget_param: R.Any)
    # CHECK: fget_param(0, {{.*}})
    # CHECK: with R.dataflow():
    # CHECK-NOT: fget_param
    @R.function
    def block(a: R.Tensor((4,), "float32")):
        with R.dataflow():
            b = R.exp(a)
            R.output(b)
        return b

    # CHECK-LABEL: def hidden(
    # CHECK-NEXT: R.negative(a)
    @R.function(private=True)
    def hidden(a: R.Tensor((4,), "float32")):
        return R.negative(a)


print(transform.LazyGetInput()(Model).script())
