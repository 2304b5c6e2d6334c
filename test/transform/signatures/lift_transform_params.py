# RUN: %PYTHON %s | FileCheck %s
"""Pass `LiftTransformParams`: what depends on weights alone is a function of its own."""

from relax_mlir import errors, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    # CHECK-LABEL: def main(x: {{.*}}, b: {{.*}}, scaled: {{.*}})
    # CHECK-NOT: R.multiply
    # CHECK: R.matmul(x, scaled)
    @R.function
    def main(x: R.Tensor((2, 4)), w: R.Tensor((4, 3)), b: R.Tensor((3,))):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            scaled = R.multiply(w, w)
            y = R.add(R.matmul(x, scaled), b)
            R.output(y)
        return y

    # What is outside of dataflow blocks, or needs an input, stays.
    # CHECK-LABEL: def outside(x: {{.*}}, w: {{.*}})
    # CHECK: R.multiply(w, w)
    # CHECK: R.exp(x)
    @R.function
    def outside(x: R.Tensor((2, 4)), w: R.Tensor((4,))):
        R.func_attr({"num_input": 1})
        scaled = R.multiply(w, w)
        with R.dataflow():
            y = R.add(R.exp(x), scaled)
            R.output(y)
        return y

    # What is to stay is a mark, and goes.
    # CHECK-LABEL: def stays(x: {{.*}}, turned: {{.*}})
    # CHECK: R.add(turned, turned)
    # CHECK-NOT: stop_lift_params
    @R.function
    def stays(x: R.Tensor((2, 4)), w: R.Tensor((3, 4))):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            turned = R.permute_dims(w)
            twice = R.builtin.stop_lift_params(turned)
            y = R.matmul(x, R.add(twice, twice))
            R.output(y)
        return y

    # CHECK-LABEL: def main_transform_params(model_params: R.Tuple(
    # CHECK: "num_input": 0
    # CHECK: scaled: {{.*}} = R.multiply({{.*}})
    # CHECK: (b, scaled)
    # CHECK-LABEL: def outside_transform_params(model_params: R.Tuple(
    # CHECK-LABEL: def stays_transform_params(model_params: R.Tuple(
    # CHECK: R.permute_dims
    # CHECK-NOT: R.add
    # CHECK: return


@I.ir_module
class Shared:
    # What all compute is in one function.
    # CHECK-LABEL: SHARED
    # CHECK-LABEL: def first(x: {{.*}}, {{.*}}: {{.*}})
    # CHECK: R.matmul(x, {{.*}})
    @R.function
    def first(x: R.Tensor((2, 4)), w: R.Tensor((4, 4))):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.matmul(x, R.exp(w))
            R.output(y)
        return y

    # CHECK-LABEL: def second(x: {{.*}}, {{.*}}: {{.*}})
    # CHECK: R.add(x, {{.*}})
    @R.function
    def second(x: R.Tensor((4, 4)), w: R.Tensor((4, 4))):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.add(x, R.exp(w))
            R.output(y)
        return y

    # CHECK-LABEL: def transform_params(
    # CHECK: R.exp(w)
    # CHECK-NOT: R.exp(


print(transform.LiftTransformParams()(Model).script())
print("SHARED", transform.LiftTransformParams(shared_transform=True)(Shared).script())
# CHECK: no function 'third' with 'num_input'
try:
    transform.LiftTransformParams(shared_transform=["third"])(Shared)
except errors.PassError as error:
    print(error)
