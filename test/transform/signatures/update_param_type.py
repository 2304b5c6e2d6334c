# RUN: %PYTHON %s | FileCheck %s
"""Pass `UpdateParamType`: parameters get other types, and what is computed of them follows."""

from relax_mlir import errors, relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(x: R.Tensor((2, 4), dtype="float16"), n: R.Tensor((4,), dtype="int32"))
    # CHECK-SAME: -> R.Tensor((2, 4), dtype="float16")
    # CHECK: y: R.Tensor((2, 4), dtype="float16") = R.exp(x)
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), n: R.Tensor((4,), "int32")):
        y = R.exp(x)
        return y

    # What the function keeps stays as it is.
    # CHECK-LABEL: def other(n: R.Tensor((4,), dtype="int32")) -> R.Tensor((4,), dtype="int32")
    @R.function
    def other(n: R.Tensor((4,), "int32")):
        m = R.add(n, n)
        return m


def half(variable: relax.Var) -> relax.Type | None:
    if variable.ty.dtype != "float32":
        return None
    return relax.TensorType(variable.ty.dims, "float16")


print(transform.UpdateParamType(half)(Model).script())
# CHECK: expected a type such as R.Tensor((n, 4), "float32"), got 'float16'
try:
    transform.UpdateParamType(lambda variable: "float16")(Model)
except errors.RelaxMLIRError as error:
    print(error)
