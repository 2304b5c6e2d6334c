# RUN: %PYTHON %s | FileCheck %s
"""Pass `LazySetOutput`: results are handed to a function as soon as they are there."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(x: {{.*}}, fset_output: R.Any, a: {{.*}}) -> R.Tuple():
    # CHECK: "num_input": 2
    # CHECK: {{.*}} = fset_output(2, a)
    # CHECK: y: {{.*}} = R.exp(x)
    # CHECK-NEXT: {{.*}} = fset_output(0, y)
    # CHECK: z: {{.*}} = R.add(y, a)
    # CHECK: fset_output(1, z)
    # CHECK: fset_output(3, 7)
    # CHECK: return ()
    @R.function
    def main(x: R.Tensor((4,), "float32"), a: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        y = R.exp(x)
        z = R.add(y, a)
        return (y, z, a, R.prim_value(7))

    # A result that is no tuple is the only one, and without `num_input` the function comes last.
    # CHECK-LABEL: def single(x: {{.*}}, fset_output: R.Any) -> R.Tuple():
    # CHECK: with R.dataflow():
    # CHECK: R.output(y)
    # CHECK: fset_output(0, y)
    @R.function
    def single(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    # CHECK-LABEL: def hidden(
    # CHECK-NEXT: R.negative(a)
    @R.function(private=True)
    def hidden(a: R.Tensor((4,), "float32")):
        return R.negative(a)


print(transform.LazySetOutput()(Model).script())
