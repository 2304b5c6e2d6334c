# RUN: %PYTHON %s | FileCheck %s
"""Pass `LazyTransformParams`: weights are loaded and results stored by packed functions."""

from relax_mlir import relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model:
    # A result is stored after its last use, a weight let go after its own.
    # CHECK-LABEL: def main_transform_params(x: {{.*}}, file: R.Any) -> R.Tuple():
    # CHECK: R.call_packed("get_item", file, R.prim_value(1), ty_args=(R.Any,))
    # CHECK: y: {{.*}} = R.exp(b)
    # CHECK-NEXT: R.vm.kill(b)
    # CHECK-NEXT: R.call_packed("set_item", R.prim_value(0), y, ty_args=(R.Any,))
    # CHECK: R.call_packed("get_item", file, R.prim_value(0), ty_args=(R.Any,))
    # CHECK: z: {{.*}} = R.add(x, a)
    # CHECK: R.call_packed("set_item", R.prim_value(2), a, ty_args=(R.Any,))
    # CHECK-NEXT: R.vm.kill(a)
    # CHECK-NEXT: R.call_packed("set_item", R.prim_value(1), z, ty_args=(R.Any,))
    @R.function
    def main_transform_params(
        x: R.Tensor((4,), "float32"), a: R.Tensor((4,), "float32"),
        b: R.Tensor(("n",), "float32"),
    ):  # fmt: skip
        R.func_attr({"num_input": 1})
        y = R.exp(b)
        z = R.add(x, a)
        return (y, z, a)

    # CHECK-LABEL: def other(a: R.Tensor((4,), dtype="float32"))
    @R.function
    def other(a: R.Tensor((4,), "float32")):
        return R.negative(a)


@I.ir_module
class Bundled:
    # The fields of a tuple are weights too; what gives symbols their values stays a parameter.
    # CHECK-LABEL: def transform_params(symbolic_var_holder: R.Shape(["n"])) -> R.Tuple({{.+}}):
    # CHECK: R.call_packed("load", R.prim_value(1), ty_args=(R.Any,))
    # CHECK-NOT: R.call_packed
    # CHECK-NOT: kill
    @R.function
    def transform_params(params: R.Tuple(R.Shape(["n"]), R.Tensor((4,), "float32"))):
        n = T.int64()
        a = params[1]
        y = R.broadcast_to(a, R.shape([n, 4]))
        return (a, y)


file = relax.Var("file", relax.ObjectType())
print(transform.LazyTransformParams(extra_get_item_params=[file])(Model).script())
print(transform.LazyTransformParams("load", None)(Bundled).script())
