"""Programs compute the same after fusion under TVM's names."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax, runtime, transform
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

pytestmark = pytest.mark.codegen

FUSED = transform.Sequential(
    [
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        transform.FuseOps(),
        transform.FuseTIR(),
    ]
)
WEIGHTS = np.random.default_rng(7).normal(size=(5, 3)).astype("float32")


@I.ir_module
class Dense:
    @R.function
    def main(x: R.Tensor(("n", 5), "float32")):
        with R.dataflow():
            a = R.matmul(x, R.const(WEIGHTS))
            b = R.nn.relu(R.add(a, R.const(WEIGHTS[0])))
            c = R.nn.softmax(b)
            y = R.multiply(R.exp(c), R.tanh(c))
            R.output(y)
        return y


@I.ir_module
class Several:
    @R.function
    def main(x: R.Tensor(("n", 5), "float32")):
        with R.dataflow():
            a = R.exp(R.permute_dims(x))
            b = R.concat((a, R.tanh(a)), axis=0)
            parts = R.split(b, 2, axis=0)
            c = R.add(parts[0], R.sum(parts[1]))
            R.output(a, c)
        return a, c


@I.ir_module
class Matched:
    @R.function
    def main(x: R.Tensor(("n", 5), "float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.exp(x)
            flat = R.reshape(R.tanh(a), R.shape([n * 5]))
            kept = R.call_pure_packed("test.fusion.same", flat, sinfo_args=R.Tensor(ndim=1))
            z = R.match_cast(kept, R.Tensor((m,), "float32"))
            y = R.cos(R.add(z, z))
            R.output(a, y)
        return a, y


@pytest.fixture(autouse=True)
def _same() -> Iterator[None]:
    runtime.register_func("test.fusion.same", lambda tensor: tensor)
    yield
    runtime.remove_global_func("test.fusion.same")


@pytest.mark.parametrize("program", [Dense, Several, Matched])
def test_same_numbers(program: Any) -> None:
    fused = FUSED(program)
    assert fused.script().count("call_tir(") < transform.LegalizeOps()(program).script().count(
        "call_tir("
    )
    assert "Primitive" not in fused.script()
    before, after = (relax.VirtualMachine(relax.build(each))["main"] for each in (program, fused))
    for rows in (0, 1, 13, 64):
        x = np.random.default_rng(rows).normal(size=(rows, 5)).astype("float32")
        one, two = (made if isinstance(made, (list, tuple)) else [made]
                    for made in (before(x), after(x)))  # fmt: skip
        for expected, got in zip(one, two, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
