# RUN: %PYTHON %s | FileCheck %s
"""Pass `CombineParallelMatmul`: one product of those of one matrix with several."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Products:
    # CHECK-LABEL: def layers(
    # CHECK: [[W:[a-z0-9]+]]: {{.*}} = R.concat((a, b), axis=1)
    # CHECK: [[P:[a-z0-9]+]]: {{.*}} = R.matmul(x, [[W]])
    # CHECK: [[B:[a-z0-9]+]]: {{.*}} = R.concat((c, d))
    # CHECK: [[S:[a-z0-9]+]]: {{.*}} = R.add([[P]], [[B]])
    # CHECK: [[A:[a-z0-9]+]]: {{.*}} = R.nn.relu([[S]])
    # CHECK: R.split([[A]], indices_or_sections=[3], axis=2)
    # CHECK-NOT: R.matmul
    @R.function
    def layers(x: R.Tensor((7, 2, 4)), a: R.Tensor((4, 3)), b: R.Tensor((4, 5)), c: R.Tensor((3,)),
               d: R.Tensor((5,))):  # fmt: skip
        with R.dataflow():
            y = R.nn.relu(R.add(R.matmul(x, a), c))
            z = R.nn.relu(R.add(R.matmul(x, b), d))
            R.output(y, z)
        return y, z

    # What is used besides is not part of what is combined.
    # CHECK-LABEL: def used_twice(
    # CHECK: R.matmul(
    # CHECK: R.split(
    # CHECK: R.nn.relu(
    # CHECK: R.nn.relu(
    @R.function
    def used_twice(x: R.Tensor((2, 4)), a: R.Tensor((4, 3)), b: R.Tensor((4, 5))):
        with R.dataflow():
            p = R.matmul(x, a)
            y = R.nn.relu(p)
            z = R.nn.relu(R.matmul(x, b))
            R.output(p, y, z)
        return p, y, z

    # One that needs another is not parallel to it.
    # CHECK-LABEL: def chained(
    # CHECK-NOT: R.concat
    # CHECK: return
    @R.function
    def chained(x: R.Tensor((4, 4)), a: R.Tensor((4, 4))):
        with R.dataflow():
            y = R.matmul(x, a)
            z = R.matmul(x, y)
            R.output(z)
        return z

    # CHECK-LABEL: def outside(
    # CHECK-NOT: R.concat
    @R.function
    def outside(x: R.Tensor((2, 4)), a: R.Tensor((4, 3)), b: R.Tensor((4, 5))):
        y = R.matmul(x, a)
        z = R.matmul(x, b)
        return y, z


print(transform.CombineParallelMatmul()(Products).script())
# A check can decline.
# CHECK: True
declined = transform.CombineParallelMatmul(lambda left, rights, biases, values: False)
print(declined(Products).script() == Products.script())
