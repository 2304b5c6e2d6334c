# RUN: %PYTHON %s | FileCheck %s
"""Pass `MergeCompositeFunctions`: neighbouring calls for one library become one function."""

from relax_mlir import transform
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

PATTERNS = [
    ("a.relu", is_op("relax.nn.relu")(wildcard())),
    ("a.add", is_op("relax.add")(wildcard(), wildcard())),
    ("b.exp", is_op("relax.exp")(wildcard())),
]


def merge(module):
    passes = [transform.FuseOpsByPattern(PATTERNS), transform.MergeCompositeFunctions()]
    made = transform.Sequential(passes)(module)
    made.verify()
    print(made.script())


@I.ir_module
class Chain:
    # CHECK-LABEL: def main(x:
    # CHECK: [[Y:[a-z0-9]+]]: {{.*}} = cls.fused_relax_nn_relu_relax_add_a(x)
    # CHECK-NEXT: cls.fused_relax_exp1_b([[Y]])
    # What the library is to compute is defined inside, and not private.
    # CHECK-LABEL: @R.function
    # CHECK-NEXT: def fused_relax_nn_relu_relax_add_a(x:
    # CHECK-NEXT: R.func_attr({"Codegen": "a"})
    # CHECK: R.func_attr({"Composite": "a.relu"})
    # CHECK: R.func_attr({"Composite": "a.add"})
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.add(R.nn.relu(x), x)
            z = R.exp(y)
            R.output(z)
        return z


merge(Chain)


@I.ir_module
class Diamond:
    # What is computed elsewhere stands between them: one function would need its own result.
    # CHECK-LABEL: def main(x:
    # CHECK: cls.fused_relax_nn_relu1_a(x)
    # CHECK: cls.fused_relax_exp1_b(
    # CHECK: cls.fused_relax_add1_a(
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(a)
            c = R.add(a, b)
            R.output(c)
        return c


merge(Diamond)
