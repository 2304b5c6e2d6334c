# RUN: %PYTHON %s | FileCheck %s
"""Pass `RemoveUnusedOutputs`: private functions return what is used of a tuple."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(
    # CHECK: [[P:[a-z0-9]+]]: R.Tuple({{.*}}, {{.*}}) = cls.three(x)
    # CHECK-NEXT: [[Q:[a-z0-9]+]]: R.Tensor({{.*}}) = cls.two(x)
    # CHECK: [[P]][0]
    # CHECK: [[P]][1]
    # CHECK: return ({{.*}}, [[Q]])
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Model
        p = cls.three(x)
        q = cls.two(x)
        return p[0], p[2], q[1]

    # CHECK-LABEL: def three(
    # CHECK-NOT: R.tanh
    # CHECK: return
    @R.function(private=True)
    def three(x: R.Tensor((4,), "float32")):
        return R.exp(x), R.tanh(x), R.cos(x)

    # CHECK-LABEL: def two(x: {{.*}}) -> R.Tensor((4,), dtype="float32"):
    @R.function(private=True)
    def two(x: R.Tensor((4,), "float32")):
        return R.exp(x), R.tanh(x)


print(transform.RemoveUnusedOutputs()(Model).script())


@I.ir_module
class Whole:
    # The whole tuple is used.
    # CHECK-LABEL: def main(
    # CHECK-LABEL: def two(x: {{.*}}) -> R.Tuple(
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Whole
        return cls.two(x)

    @R.function(private=True)
    def two(x: R.Tensor((4,), "float32")):
        return R.exp(x), R.tanh(x)


print(transform.RemoveUnusedOutputs()(Whole).script())
