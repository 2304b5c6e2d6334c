# RUN: %PYTHON %s | FileCheck %s
"""Pass `FuseOpsByPattern`: functions of what patterns match."""

import numpy as np

from relax_mlir import errors, transform
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

DENSE = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.matmul(x, R.const(np.ones((4, 4), "float32"))))
            b = R.matmul(a, v)
            c = R.nn.relu(b)
            y = R.add(b, c)
            R.output(y)
        return y


def fuse(**options: bool) -> None:
    made = transform.FuseOpsByPattern([("numpy.dense", DENSE)], **options)(Model)
    made.verify()
    print(made.script())


# The constant is part of the function. A value that is needed outside of a match is a result too.
# CHECK-LABEL: def main(
# CHECK: a: {{.*}} = cls.fused_relax_matmul_relax_nn_relu(x)
# CHECK: [[BOTH:[a-z0-9]+]]: {{.*}} = cls.fused_relax_matmul_relax_nn_relu1(a, v)
# CHECK: b: {{.*}} = [[BOTH]][0]
# CHECK: c: {{.*}} = [[BOTH]][1]
# CHECK-LABEL: def fused_relax_matmul_relax_nn_relu(x: R.Tensor(("n", 4), dtype="float32")) ->
# CHECK: R.func_attr({"Composite": "numpy.dense", "Primitive": True})
# CHECK: R.matmul(x, R.const(
# CHECK: R.nn.relu(
fuse()

# Or it is an argument.
# CHECK-LABEL: def main(
# CHECK: cls.fused_relax_matmul_relax_nn_relu(x, R.const(
fuse(bind_constants=False)

# A public function around it is for the library that the name begins with.
# CHECK-LABEL: def main(
# CHECK: cls.fused_relax_matmul_relax_nn_relu_numpy(x)
# CHECK-LABEL: def fused_relax_matmul_relax_nn_relu_numpy(
# CHECK: R.func_attr({"Codegen": "numpy"})
# CHECK: "Composite": "numpy.dense"
fuse(annotate_codegen=True)

# A check may refuse a match.
# CHECK: True
refused = transform.FuseOpsByPattern([("numpy.dense", DENSE, {}, lambda context: False)])
print(refused(Model).script() == Model.script())

# CHECK: no function 'mian'
try:
    transform.FuseOpsByPattern([("numpy.dense", DENSE)], entry_functions=["mian"])(Model)
except errors.PassError as error:
    print(error)
