"""FuseKernels and OutlineNative: merged kernels compute what they did apart."""

import numpy as np
import pytest

from relax_mlir import register_func, relax
from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext

PIPELINES = {
    "default": DEFAULT_PIPELINE,
    "unfused": tuple(name for name in DEFAULT_PIPELINE if name != "FuseKernels"),
    "not outlined": tuple(name for name in DEFAULT_PIPELINE if name != "OutlineNative"),
    "apart": tuple(n for n in DEFAULT_PIPELINE if n not in ("FuseKernels", "OutlineNative")),
}

PROGRAM = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def chain(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.exp(b)
            d = R.add(a, c)
            R.output(d)
        return d

    @R.function
    def several(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, a)
            c = R.multiply(a, b)
            R.output(a, c)
        return (c, (a, c))

    @R.function
    def interrupted(x: R.Tensor(("n",), "float32")):
        a = R.exp(x)
        b = R.add(a, a)
        s = R.call_packed("test.outline.double_in_place", b, sinfo_args=R.Tensor(("n",), "float32"))
        c = R.add(b, b)
        d = R.multiply(c, a)
        return (b, d)

    @R.function
    def branches(flag: R.Tensor((), "bool"), x: R.Tensor(("n", 3), "float32")):
        if flag:
            a = R.exp(x)
            b = R.sum(a, axis=1)
            r = R.add(b, b)
        else:
            c = R.negative(x)
            d = R.sum(c, axis=1)
            r = R.multiply(d, d)
        return r

    @R.function
    def gate(x: R.Tensor(("n", "m"), "float32"), s: R.Tensor(("m",), "float32")):
        with R.dataflow():
            a = R.multiply(x, s)
            g = R.multiply(a, R.sigmoid(a))
            v = R.minimum(R.maximum(g, R.const(-0.5, "float32")), R.const(0.5, "float32"))
            k = R.astype(R.less(v, R.const(0.1, "float32")), "float32")
            z = R.sum(R.multiply(R.add(v, v), k), axis=0)
            R.output(z)
        return z

    @R.function
    def changed(x: R.Tensor(("n",), "float32")):
        a = R.exp(x)
        b = R.call_packed("test.outline.double_in_place", x)
        c = R.negative(a)
        return c

    @R.function
    def compound(x: R.Tensor(("n", 4), "float32")):
        a = R.flatten(x)
        b = R.exp(a)
        c = R.add(b, b)
        return c
"""


@register_func("test.outline.double_in_place", override=True)
def double_in_place(x):
    x *= 2
    return x


@pytest.fixture(scope="module", params=list(PIPELINES))
def vm(request):
    executable = relax.build(from_source(PROGRAM), relax_pipeline=PIPELINES[request.param])
    outlined = any("native" in name for name in executable.func_names)
    assert outlined == ("OutlineNative" in PIPELINES[request.param])
    return relax.VirtualMachine(executable)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 33, 200])
def test_results(vm, n):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 4), dtype=np.float32)
    w = rng.standard_normal((4, n + 1), dtype=np.float32)
    a = x.astype(np.float64) @ w
    # Near -1 the sum cancels: what rounding took from the product, some units of 1, is left.
    exact = a + np.exp(np.maximum(a, 0))
    np.testing.assert_allclose(vm["chain"](x, w), exact, rtol=2e-5, atol=1e-6)
    v = rng.standard_normal(n, dtype=np.float32)
    e = np.exp(v)
    c, (first, again) = vm["several"](v)
    np.testing.assert_allclose(c, 2 * e * e, rtol=1e-5)
    np.testing.assert_allclose(first, e, rtol=1e-5)
    np.testing.assert_array_equal(again, c)
    b, d = vm["interrupted"](v)
    np.testing.assert_allclose(b, 4 * e, rtol=1e-5)
    np.testing.assert_allclose(d, 8 * e * e, rtol=1e-5)
    y = rng.standard_normal((n, 3), dtype=np.float32)
    np.testing.assert_allclose(vm["branches"](np.array(True), y), 2 * np.exp(y).sum(1), rtol=1e-5)
    np.testing.assert_allclose(
        vm["branches"](np.array(False), y), y.sum(1) ** 2, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(vm["compound"](x), 2 * np.exp(x.ravel()), rtol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3), (3, 1), (7, 33), (130, 65)])
def test_long_chain(vm, shape):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape, dtype=np.float32)
    s = rng.standard_normal(shape[1], dtype=np.float32)
    a = (x * s).astype(np.float64)
    v = np.clip(a / (1 + np.exp(-a)), -0.5, 0.5)
    np.testing.assert_allclose(vm["gate"](x, s), (2 * v * (v < 0.1)).sum(0), rtol=1e-4, atol=1e-5)


def test_what_a_packed_function_changes_is_not_read_late(vm):
    x = np.ones(5, np.float32)
    np.testing.assert_allclose(vm["changed"](x), np.full(5, -np.e), rtol=1e-6)
    np.testing.assert_array_equal(x, np.full(5, 2))


def test_the_pass_context_says_what_build_runs():
    def stages(**settings):
        log = relax.BuildLog()
        with PassContext(**settings):
            relax.build(from_source(CHECKED), log=log)
        return {stage.name for stage in log.stages}

    optimizations = {"FoldConstant", "EliminateCommonSubexpr", "FuseKernels", "OutlineNative"}
    assert stages() >= optimizations
    assert stages(opt_level=3) >= optimizations | {"FoldScaleAxis", "AlterOpLayout"}
    assert not stages(opt_level=0) & optimizations
    assert stages(opt_level=0, required_pass=["FuseKernels"]) & optimizations == {"FuseKernels"}
    assert stages(disabled_pass=["FuseKernels"]) & optimizations == optimizations - {"FuseKernels"}


def test_results_of_two_calls_share_nothing(vm):
    x = np.ones(5, np.float32)
    first = vm["several"](x)[0]
    kept = first.copy()
    vm["several"](2 * x)
    np.testing.assert_array_equal(first, kept)


CHECKED = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def between(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        a = R.exp(x)
        b = R.match_cast(a, R.Tensor(("m",), "float32"))
        c = R.add(b, y)
        d = R.sum(c)
        return (d, b)

    @R.function
    def around(x: R.Tensor(("n",), "float32"), u: R.Tensor(dtype="float32")):
        a = R.exp(x)
        z = R.add(u, u)
        b = R.cumsum(a)
        q = R.unique(b)
        c = R.sum(R.multiply(b, a))
        return (c, q, z)

    @R.function
    def cast_of_unknown(x: R.Tensor(ndim=1, dtype="float32")):
        a = R.match_cast(x, R.Tensor(("n",), "float32"))
        b = R.cumsum(R.exp(a))
        c = R.sum(R.multiply(b, a))
        return c
"""


def _native_calls(executable, name):
    text = executable.as_text().split(f"@{name}:")[1].split("@")[0]
    return [line.split()[1] for line in text.splitlines() if "_native" in line]


def test_what_stands_between_calls_moves_out_of_their_way():
    executable = relax.build(from_source(CHECKED))
    for name in ("between", "around", "cast_of_unknown"):
        assert len(_native_calls(executable, name)) == 1, executable.as_text()
    vm = relax.VirtualMachine(executable)
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    e = np.exp(x)
    d, b = vm["between"](x, x)
    np.testing.assert_allclose(d, (e + x).sum(), rtol=1e-5)
    np.testing.assert_allclose(b, e, rtol=1e-6)
    c, q, z = vm["around"](x, np.ones((2, 2), np.float32))
    np.testing.assert_allclose(c, (e.cumsum() * e).sum(), rtol=1e-5)
    np.testing.assert_allclose(q, e.cumsum(), rtol=1e-5)
    np.testing.assert_array_equal(z, np.full((2, 2), 2))
    np.testing.assert_allclose(
        vm["cast_of_unknown"](x), (e.cumsum() * x).sum(), rtol=1e-4, atol=1e-5
    )


def test_a_check_that_comes_first_says_the_same():
    messages = []
    for disabled in ([], ["OutlineNative"]):
        with PassContext(disabled_pass=disabled):
            vm = relax.VirtualMachine(relax.build(from_source(CHECKED)))
        with pytest.raises(ShapeMismatchError) as caught:
            vm["between"](np.ones(3, np.float32), np.ones(4, np.float32))
        messages.append(str(caught.value).split("\n")[0])
    assert messages[0] == messages[1]
    assert "match_cast of 'b'" in messages[0]


def test_a_tuple_of_a_parameter_is_not_taken_for_new():
    builder = relax.ExecBuilder()
    with builder.function("main", 1):
        builder.emit_call("vm.builtin.make_tuple", args=[builder.r(0)], dst=builder.r(0))
        builder.emit_ret(builder.r(0))
    x = np.ones(3, np.float32)
    (same,) = relax.VirtualMachine(builder.get())["main"](x)
    assert same.base is x
