"""Programs of many operations: nothing known of the arguments, and all in a dataflow block."""

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Program:
    @R.function
    def unknown(x: R.Tensor, w: R.Tensor):
        a = R.nn.attention(x, x, x, causal_mask="TopLeft")
        b = R.std(a, axis=[-1], keepdims=True)
        c = R.nn.group_norm(a, w, w, num_groups=2, channel_axis=-1, axes=[1])
        u = R.unique(R.round(c), return_counts=True)
        s = R.sort(u[0], descending=True)
        n = R.nonzero(R.isnan(c))
        e = R.einsum((c, c), subscripts="bihd,bjhd->bhij")
        m = R.match_cast(e, R.Tensor(("p", "q", "r", "r"), "float32"))
        z = R.argmax(m, axis=-1)
        return (b, s, n, z, m)

    @R.function
    def known(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            chosen = R.logical_and(R.isfinite(x), R.greater(y, x))
            rest = R.floor_mod(y, R.const(3.0, "float32"))
            a = R.where(chosen, R.nn.gelu_tanh(x), rest)
            b = R.cumsum(R.clip(a, -1, 1), axis=1)
            c = R.variance(b, axis=[0])
            d = R.any(R.less(c, R.const(0.0, "float32")))
            R.output(b, c, d)
        return (b, c, d)


@pytest.fixture(scope="module")
def vm() -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(Program))


def test_ranks_and_dtypes_known_at_run_time(vm: relax.VirtualMachine) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 5, 4, 6)).astype("float32"), np.ones(6, "float32")
    b, s, n, z, m = vm["unknown"](x, w)
    assert b.shape == (2, 5, 4, 1)
    assert (np.diff(s) < 0).all()
    assert n.shape == (4, 0)
    np.testing.assert_array_equal(z, m.argmax(-1))


def test_a_dataflow_block(vm: relax.VirtualMachine) -> None:
    rng = np.random.default_rng(1)
    for shape in ((7, 5), (1, 1), (17, 67)):
        x, y = (rng.normal(size=shape).astype("float32") for _ in range(2))
        b, c, d = vm["known"](x, y)
        gelu = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        wanted = np.cumsum(np.clip(np.where(y > x, gelu, np.mod(y, 3)), -1, 1), axis=1)
        np.testing.assert_allclose(b, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(c, wanted.var(0), rtol=1e-4, atol=1e-5)
        assert not d
