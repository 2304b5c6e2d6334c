# RUN: %PYTHON %s | FileCheck %s
"""Pass `BundleModelParams`: the weights of a function become one tuple."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(x: R.Tensor((4,), dtype="float32"), weights: R.Tuple(
    # CHECK: "num_input": 1
    # CHECK: b: {{.*}} = weights[1]
    # CHECK-NEXT: R.add(x, b)
    # CHECK: a: {{.*}} = weights[0]
    @R.function
    def main(
        x: R.Tensor((4,), "float32"), a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.add(x, b)
            z = R.multiply(y, a)
            R.output(z)
        return z

    # A function that does not say what its weights are stays.
    # CHECK-LABEL: def other(x: R.Tensor((4,), dtype="float32"), a: R.Tensor(
    @R.function
    def other(x: R.Tensor((4,), "float32"), a: R.Tensor((4,), "float32")):
        return R.add(x, a)


print(transform.BundleModelParams("weights")(Model).script())
