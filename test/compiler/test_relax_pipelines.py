"""`relax.pipeline`: pipelines by name, and the arguments of `relax.build` that take them."""

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir, transform
from relax_mlir.compiler import pipeline
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.errors import ExprError, PassTypeError, PipelineError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

X = np.arange(12, dtype="float32").reshape(3, 4)
W = np.ones((4, 5), "float32")


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 5), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y


def run(executable: relax.Executable, *inputs: np.ndarray) -> np.ndarray:
    return relax.VirtualMachine(executable)["main"](*inputs)


def test_the_default_pipeline_leaves_nothing_to_do() -> None:
    lowered = relax.get_default_pipeline("llvm")(Model)
    assert "relax.matmul" not in str(lowered.mlir_module)
    expected = run(relax.build(Model), X, W)
    for executable in (
        relax_mlir.compile(lowered),
        relax.build(lowered, relax_pipeline=None),
        relax.build(Model, relax_pipeline=relax.get_pipeline("default")),
    ):
        np.testing.assert_array_equal(run(executable, X, W), expected)


def test_phases_are_the_passes_of_a_build() -> None:
    phases = (
        relax.pipeline.library_dispatch_passes, relax.pipeline.legalize_passes,
        relax.pipeline.dataflow_lower_passes, relax.pipeline.finalize_passes,
    )  # fmt: skip
    names = [each.info.name for phase in phases for each in phase("llvm")]
    assert names == list(DEFAULT_PIPELINE)
    with pytest.raises(ValueError, match="vulkan"):
        relax.pipeline.legalize_passes("vulkan")


def test_level_0_leaves_out_what_only_optimizes() -> None:
    with transform.PassContext(opt_level=0):
        lowered = relax.get_pipeline("default")(Model)
    assert str(lowered.mlir_module).count("relax.alloc_tensor") == 0
    np.testing.assert_allclose(run(relax.build(lowered, relax_pipeline=None), X, W), X @ W)


KERNEL = np.random.default_rng(7).normal(size=(16, 8, 3, 3)).astype("float32")
BACK = KERNEL.transpose(1, 0, 2, 3).copy()
SCALE = np.linspace(0.5, 2, 8, dtype="float32").reshape(8, 1, 1)


@I.ir_module
class Scaled:
    @R.function
    def main(x: R.Tensor(("n", 8, 9, 9), "float32")):
        with R.dataflow():
            kernel = R.multiply(R.const(KERNEL), R.const(2.0, "float32"))
            y = R.nn.conv2d(x, kernel, padding=1)
            z = R.add(R.nn.relu(y), R.tanh(R.nn.relu(y)))
            v = R.nn.conv2d(z, R.const(BACK))
            u = R.multiply(v, R.const(SCALE))
            R.output(u)
        return u


@pytest.mark.codegen
def test_each_level_adds_what_the_guide_says() -> None:
    def kernels(level: int) -> list[str]:
        with transform.PassContext(opt_level=level):
            results.append(run(relax.build(Scaled), image))
            return pipeline.lower(Scaled, "symbol-dce").function_names

    results: list[np.ndarray] = []
    image = np.random.default_rng(8).normal(size=(2, 8, 9, 9)).astype("float32")
    plain, fused, packed, moved = map(kernels, range(4))
    # 0: each operation is a kernel.
    assert {"conv2d", "conv2d1", "relu", "tanh", "add", "multiply", "multiply1"} < set(plain)
    # 1: kernels are fused; what is computed of constants is computed at each run.
    assert {"multiply", "conv2d_relu_tanh_add"} < set(fused)
    # 2: constants are folded.
    assert "multiply" not in packed
    assert [name for name in packed if "conv2d" in name and "multiply" in name]
    # 3: the scale is part of the weights, and images are in another layout.
    assert "permute_dims" in moved
    assert not [name for name in moved if "multiply" in name]
    # Results reach 1089, where a last place is 1.2e-4, and with AVX-512 a level convolves by
    # Winograd's transforms: sums that cancel are off by several last places of their summands.
    largest = np.abs(results[0]).max()
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-4, atol=1e-6 * largest)


@pytest.mark.parametrize("given", ["zero", "test.tidy", transform.CanonicalizeBindings()])
def test_what_a_pipeline_leaves_is_lowered(given: object) -> None:
    if given == "test.tidy" and given not in relax.pipeline.PIPELINE_MAP:

        @relax.register_pipeline("test.tidy")
        def tidy() -> transform.Sequential:
            return transform.Sequential([transform.InferType(), transform.DeadCodeElimination()])

    try:
        executable = relax_mlir.compile(Model, relax_pipeline=given)
    finally:
        relax.pipeline.PIPELINE_MAP.pop("test.tidy", None)
    np.testing.assert_allclose(run(executable, X, W), X @ W)


def test_a_pass_over_prim_funcs() -> None:
    seen: list[str] = []

    @transform.module_pass(opt_level=0)
    def note(mod: relax_mlir.IRModule, ctx: transform.PassContext) -> relax_mlir.IRModule:
        seen.extend(mod.function_names)
        return mod

    kernels = transform.Sequential([tir.transform.Simplify(), note])
    executable = relax.build(Model, tir_pipeline=kernels, exec_mode="compiled")
    assert seen
    assert "main" not in seen
    np.testing.assert_allclose(run(executable, X, W), X @ W)


def test_params_become_constants() -> None:
    np.testing.assert_allclose(run(relax.build(Model, params={"w": W}), X), X @ W)
    with pytest.raises(ExprError, match="'main', and there are: f, g"):
        relax.build(relax_mlir.IRModule({"f": Model["main"], "g": Model["main"]}), params={"w": W})


def test_errors() -> None:
    with pytest.raises(PipelineError, match="unknown pipeline 'zer'; did you mean 'zero'"):
        relax.get_pipeline("zer")
    with pytest.raises(PipelineError, match="'zero' is registered already"):
        relax.register_pipeline("zero")
    with pytest.raises(PassTypeError, match="a pipeline is its name, a pass"):
        relax.build(Model, relax_pipeline=3)
    with pytest.raises(PassTypeError, match="tir_pipeline is 'default' or a pass, got 'x'"):
        relax.build(Model, tir_pipeline="x")
    with pytest.raises(PipelineError, match="exec_mode is bytecode or compiled, got 'jit'"):
        relax.build(Model, exec_mode="jit")
