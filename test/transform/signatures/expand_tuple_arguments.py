# RUN: %PYTHON %s | FileCheck %s
"""Pass `ExpandTupleArguments`: private functions take the fields of tuples."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(
    # CHECK: cls.inner(x, x, y)
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Model
        return cls.inner((x, (x, y)))

    # CHECK-LABEL: def inner(t_0: {{.*}}, t_1_0: {{.*}}, t_1_1:
    # CHECK-NOT: t[
    # CHECK: R.add(t_0, t_1_1)
    @R.function(private=True)
    def inner(
        t: R.Tuple(
            R.Tensor((4,), "float32"),
            R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),
        ),
    ):
        return R.add(t[0], t[1][1])

    # Others may call this one.
    # CHECK-LABEL: def public(t: R.Tuple(
    @R.function
    def public(t: R.Tuple(R.Tensor((4,), "float32"))):
        return t[0]


print(transform.ExpandTupleArguments()(Model).script())
