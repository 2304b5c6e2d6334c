"""What a pass rewrites still builds, and computes the same."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


@I.ir_module
class Dense:
    @R.function
    def main(
        x: R.Tensor(("n", 17), "float32"),
        w: R.Tensor((17, 33), "float32"),
        b: R.Tensor((33,), "float32"),
    ):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.nn.softmax(R.add(y, b), axis=-1)
            t = (z, y)
            q = R.matmul(R.permute_dims(t[1]), t[0])
            R.output(q)
        return q


@I.ir_module
class Norms:
    @R.function
    def main(
        x: R.Tensor(("n", 3, 5, 7), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        g: R.Tensor((4,), "float32"),
        b: R.Tensor((4,), "float32"),
        m: R.Tensor((4,), "float32"),
        v: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=1)
            bn = R.nn.batch_norm(c, g, b, m, R.square(v), axis=1, training=False)
            y = R.nn.relu(bn[0])
            R.output(y)
        return y


@I.ir_module
class Layers:
    @R.function
    def main(
        x: R.Tensor(("n", 4, 9), "float32"),
        g: R.Tensor((9,), "float32"),
        b: R.Tensor((9,), "float32"),
    ):
        with R.dataflow():
            y = R.nn.layer_norm(x, g, b, axes=[-1])
            R.output(y)
        return y


@I.ir_module
class Reshapes:
    @R.function
    def main(x: R.Tensor(("n", 6), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.reshape(R.reshape(x, (n * 6,)), (n, 2, 3))
            z = R.exp(R.reshape(y, (n, 2, 3)))
            R.output(z)
        return z


@I.ir_module
class Images:
    @R.function
    def main(
        x: R.Tensor(("n", 3, 9, 7), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        b: R.Tensor((4,), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=1)
            s = R.strided_slice(c, axes=[1, 2], begin=[0, 1], end=[4, 9], strides=[1, 1])
            f = R.nn.prelu(R.flip(R.tile(s, [2, 1]), axis=2), b)
            j = R.concat([f, R.nn.relu(f)], axis=-2)
            p = R.split(j, 2, axis=2)
            q = R.squeeze(R.expand_dims(p[1], axis=[1, 3]), axis=[1, 3])
            e = R.ewise_fma(q, q, p[0])
            g = R.nn.group_norm(e, b, b, num_groups=2, channel_axis=1, axes=[2, 3])
            z = R.nn.adaptive_avg_pool2d(g, output_size=[2, 3])
            u = R.image.resize2d(g, size=(5, 5))
            m = R.match_cast(u, R.Tensor((n, 4, 5, 5), "float32"))
            r = R.repeat(m, 2, axis=3)
            R.output(z, r)
        return (z, r)


@I.ir_module
class Casts:
    @R.function
    def main(x: R.Tensor(("n", 6), "float32")):
        k = T.int64()
        with R.dataflow():
            t = R.match_cast((x, R.exp(x)), R.Tuple(R.Tensor((k, 6)), R.Tensor((k, 6))))
            u = R.match_cast(t[0], R.Tensor(ndim=2))
            y = R.add(u, t[1])
            z = R.exp(y)
            R.output(y, z)
        return (y, z)


class Case(NamedTuple):
    make: Callable[[], Any]
    program: Any
    inputs: Callable[[int], list[np.ndarray]]
    rtol: float = 1e-5
    atol: float = 1e-6


def dense(n: int) -> list[np.ndarray]:
    return [normal(n, 17), normal(17, 33), normal(33)]


def norms(n: int) -> list[np.ndarray]:
    return [normal(n, 3, 5, 7), normal(4, 3, 3, 3), *(normal(4) for _ in range(4))]


HALF = {"rtol": 2e-2, "atol": 2e-1}
CASES = {
    "casts": Case(transform.CanonicalizeBindings, Casts, lambda n: [normal(n, 6)]),
    "mixed": Case(transform.ToMixedPrecision, Dense, dense, **HALF),
    "mixed all": Case(lambda: transform.ToMixedPrecision("float16"), Dense, dense, **HALF),
    "mixed bfloat16": Case(
        lambda: transform.ToMixedPrecision(dtype="bfloat16"), Dense, dense, rtol=1e-1, atol=1.0
    ),
    "mixed convolution": Case(transform.ToMixedPrecision, Norms, norms, **HALF),
    "decompose": Case(transform.DecomposeOpsForInference, Norms, norms, rtol=1e-4, atol=1e-4),
    "decompose layers": Case(
        transform.DecomposeOpsForTraining, Layers,
        lambda n: [normal(n, 4, 9), normal(9), normal(9)], rtol=1e-4, atol=1e-5,
    ),
    "layouts": Case(
        lambda: transform.ConvertLayout({"conv2d": ["NHWC", "OHWI"]}), Images,
        lambda n: [normal(n, 3, 9, 7), normal(4, 3, 3, 3), normal(4)], rtol=1e-4, atol=1e-4,
    ),
    "layouts by callback": Case(
        lambda: transform.ConvertLayout({}, lambda call: {call.op.name: ["NHWC", "HWIO"]}), Norms,
        norms, rtol=1e-4, atol=1e-4,
    ),
    "batch norm in weights": Case(
        transform.FoldBatchnormToConv2D, Norms, norms, rtol=1e-3, atol=1e-3
    ),
    "kernels of reshapes": Case(
        lambda: transform.Sequential(
            [transform.LegalizeOps(), transform.RewriteDataflowReshape()]
        ), Reshapes, lambda n: [normal(n, 6)],
    ),
    "in place": Case(transform.DataflowUseInplaceCalls, Dense, dense),
    "kernels in place": Case(
        lambda: transform.Sequential(
            [transform.LegalizeOps(), transform.DataflowUseInplaceCalls()]
        ), Images, lambda n: [normal(n, 3, 9, 7), normal(4, 3, 3, 3), normal(4)],
    ),
    "reshapes": Case(transform.RemoveRedundantReshape, Reshapes, lambda n: [normal(n, 6)]),
}  # fmt: skip


def results(value: Any) -> list[np.ndarray]:
    """Return what a function gave as a list."""
    return [value] if isinstance(value, np.ndarray) else list(value)


@pytest.fixture(scope="module")
def machine() -> Callable[[Any], Any]:
    """Return what runs `main` of a module, built once."""
    built: dict[int, Any] = {}

    def run(mod: Any) -> Any:
        if id(mod) not in built:
            built[id(mod)] = mod, relax.VirtualMachine(relax.build(mod))["main"]
        return built[id(mod)][1]

    return run


@pytest.mark.codegen
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, machine: Callable[[Any], Any]) -> None:
    case = CASES[name]
    rewritten = case.make()(case.program)
    assert str(rewritten.mlir_module) != str(case.program.mlir_module)
    before, after = machine(case.program), machine(rewritten)
    for n in (0, 1, 5):
        inputs = case.inputs(n)
        pairs = zip(results(after(*inputs)), results(before(*inputs)), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=case.rtol, atol=case.atol)


# The passes of TVM's default build that have something to do here, in its order.
TVM_BUILD = [
    "LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking",
    "CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse",
    "LowerRuntimeBuiltin", "VMShapeLower", "AttachGlobalSymbol",
]  # fmt: skip


@pytest.mark.codegen
@pytest.mark.parametrize("left_out", ["", "StaticPlanBlockMemory", "RewriteDataflowReshape"])
def test_the_order_of_tvm(left_out: str, machine: Callable[[Any], Any]) -> None:
    names = [name for name in TVM_BUILD if name != left_out]
    for program, inputs in ((Dense, dense), (Reshapes, lambda n: [normal(n, 6)])):
        run = relax.VirtualMachine(relax.build(program, relax_pipeline=names))["main"]
        for n in (0, 1, 5):
            given = inputs(n)
            np.testing.assert_allclose(run(*given), machine(program)(*given), rtol=1e-5, atol=1e-6)


def test_training_statistics(machine: Callable[[Any], Any]) -> None:
    @I.ir_module
    class Training:
        @R.function
        def main(
            x: R.Tensor(("n", 3, 4), "float32"),
            g: R.Tensor((3,), "float32"),
            b: R.Tensor((3,), "float32"),
            m: R.Tensor((3,), "float32"),
            v: R.Tensor((3,), "float32"),
        ):
            return R.nn.batch_norm(x, g, b, m, v, axis=1, momentum=0.25, training=True)

    inputs = [normal(5, 3, 4), *(normal(3) for _ in range(4))]
    rewritten = machine(transform.DecomposeOpsForTraining("main")(Training))(*inputs)
    for one, other in zip(rewritten, machine(Training)(*inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_mixed_precision_of_parameters(machine: Callable[[Any], Any]) -> None:
    half = transform.ToMixedPrecision(fp16_input_names=["w"])(Dense)
    x, w, b = dense(5)
    found = machine(half)(x, w.astype("float16"), b)
    np.testing.assert_allclose(found, machine(Dense)(x, w, b), **HALF)
    with pytest.raises(Exception, match="no function has a parameter 'ww'; did you mean 'w'"):
        transform.ToMixedPrecision(fp16_input_names=["ww"])(Dense)
    with pytest.raises(Exception, match="dtype is one of float16, bfloat16, int8, got 'float8'"):
        transform.ToMixedPrecision(dtype="float8")(Dense)
