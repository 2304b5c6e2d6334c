# RUN: %PYTHON %s | FileCheck %s
"""Pass `FuseTransposeMatmul`: a product with a transposed matrix is one prim func."""

from relax_mlir import transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(
    # CHECK-NOT: R.permute_dims
    # CHECK: R.call_tir(cls.NT_matmul, (x, w)
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((6, 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, R.permute_dims(w))
            R.output(y)
        return y

    # The last two axes are exchanged and no others.
    # CHECK-LABEL: def other(
    # CHECK: R.permute_dims
    # CHECK-NEXT: R.matmul
    @R.function
    def other(x: R.Tensor((4, 2, 8), "float32"), w: R.Tensor((6, 4, 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, R.permute_dims(w, [1, 2, 0]))
            R.output(y)
        return y


# CHECK-LABEL: def NT_matmul(
print(transform.FuseTransposeMatmul()(Model).script())
