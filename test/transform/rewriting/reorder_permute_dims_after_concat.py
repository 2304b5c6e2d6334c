# RUN: %PYTHON %s | FileCheck %s
"""Pass `ReorderPermuteDimsAfterConcat`: one transposition of joined tensors."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(
    # CHECK: [[Y:[a-z0-9]+]]: {{.*}} = R.concat((a, b))
    # CHECK-NEXT: R.permute_dims([[Y]])
    @R.function
    def main(a: R.Tensor((3, 8), "float32"), b: R.Tensor((5, 8), "float32")):
        with R.dataflow():
            y = R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1)
            R.output(y)
        return y

    # Axes that are permuted in different ways are not.
    # CHECK-LABEL: def different(
    # CHECK-COUNT-2: R.permute_dims(
    # CHECK: R.concat
    @R.function
    def different(a: R.Tensor((2, 3, 4), "float32"), b: R.Tensor((2, 4, 3), "float32")):
        with R.dataflow():
            y = R.concat((R.permute_dims(a, [0, 2, 1]), R.permute_dims(b, [0, 1, 2])), axis=0)
            R.output(y)
        return y


print(transform.ReorderPermuteDimsAfterConcat()(Model).script())
