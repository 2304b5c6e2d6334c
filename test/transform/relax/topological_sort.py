# RUN: %PYTHON %s | FileCheck %s
"""Pass `TopologicalSort`: bindings in the order of a search along their uses."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(x)
            c = R.cos(a)
            d = R.sin(b)
            y = R.add(c, d)
            R.output(y)
        return y


# CHECK-LABEL: def main(
# CHECK: R.exp
# CHECK-NEXT: R.cos
# CHECK-NEXT: R.tanh
# CHECK-NEXT: R.sin
# CHECK-NEXT: R.add
print(transform.TopologicalSort()(Model).script())
# CHECK-LABEL: def main(
# CHECK: R.exp
# CHECK-NEXT: R.tanh
# CHECK-NEXT: R.cos
# CHECK-NEXT: R.sin
# CHECK-NEXT: R.add
print(transform.TopologicalSort("breadth-first")(Model).script())
# CHECK-LABEL: def main(
# CHECK: R.exp
# CHECK-NEXT: R.cos
# CHECK-NEXT: R.tanh
# CHECK-NEXT: R.sin
# CHECK-NEXT: R.add
print(transform.TopologicalSort("depth-first", "from-outputs")(Model).script())


@I.ir_module
class Bound:
    # What mentions a symbol stays behind what gives it its value.
    # CHECK-LABEL: def main(
    # CHECK: R.match_cast
    # CHECK: R.zeros
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)):
        m = T.int64()
        with R.dataflow():
            z = R.match_cast(x, R.Tensor((m,), "float32"))
            y = R.zeros(R.shape([m]), "float32")
            R.output(z, y)
        return z, y


print(transform.TopologicalSort()(Bound).script())
