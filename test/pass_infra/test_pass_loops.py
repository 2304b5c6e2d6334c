"""Loops with symbols and effects of their own compute the same after every pass (issue 3)."""

import random

import numpy as np
import pytest

from relax_mlir import register_func, relax, transform
from relax_mlir.script import from_source

SOURCE = """
from relax_mlir.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def sized(x: R.Tensor(("n", 4), "float32"), k: R.Prim(value="k")):
        for i in range(k):
            a = R.call_dps_packed("test.loop_fill", (x,), out_sinfo=R.Tensor((i + 1, 4), "float32"))
            b = R.call_dps_packed("test.loop_fill", (x,), out_sinfo=R.Tensor((i + 1, 4), "float32"))
            x = R.add(x, R.sum(R.add(a, b)))
        z = R.call_dps_packed("test.loop_fill", (x,), out_sinfo=R.Tensor((k, 4), "float32"))
        return x, z
    @R.function
    def grows(x: R.Tensor(ndim=2, dtype="float32"), k: R.Prim("int64")):
        y = x
        for i in range(k):
            z = R.match_cast(y, R.Tensor(("a", "b"), "float32"))
            w = R.concat([z, R.multiply(z, z)], axis=0)
            y = R.match_cast(w, R.Tensor(ndim=2, dtype="float32"))
        z2 = R.match_cast(y, R.Tensor(("a", "b"), "float32"))
        return R.add(z2, z2)
    @R.function
    def says(x: R.Tensor(("n",), "float32"), k: R.Prim("int64")):
        c = 0
        while c < k:
            c = c + 1
            if c == 2:
                R.call_packed("test.pass_loops.say", x)
                x = R.nn.relu(x)
            else:
                R.assert_op(R.const(True))
                y = R.exp(x)
                x = R.negative(R.exp(x))
                R.call_packed("test.pass_loops.double", y, sinfo_args=R.Tensor(("n",), "float32"))
                x = R.add(x, y)
        return x
    @R.function
    def images(x: R.Tensor((1, 4, 5, 5), "float32"), k: R.Prim("int64")):
        w = R.const(WEIGHT)
        s = R.const([[[2.0]], [[1.0]], [[3.0]], [[0.5]]], "float32")
        @R.function
        def step(v: R.Tensor((1, 4, 5, 5), "float32")) -> R.Tensor((1, 4, 5, 5), "float32"):
            return R.nn.relu(R.multiply(R.nn.conv2d(v, w, padding=1), s))
        t = (x, (x, x))
        for i in range(k):
            a = t[1][0]
            d = R.nn.dropout(a, rate=0.5)
            b = R.tanh(R.add(step(a), d[0]))
            t = (a, (b, t[0]))
        return t
"""
WEIGHT = np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype("float32")
PASSES = (
    "alter-op-layout", "canonicalize-bindings", "convert-to-dataflow", "dead-code-elimination",
    "eliminate-common-subexpr", "fold-constant", "fold-scale-axis", "infer-type", "lambda-lift",
    "normalize", "refine-shapes-backward", "simplify-inference", "cse", "canonicalize",
    "legalize-ops", "fuse-kernels", "outline-native", "extract-shape-functions",
)  # fmt: skip
SAID: list[np.ndarray] = []


@register_func("test.loop_fill", override=True)
def fill(x, out):
    out[:] = x.sum() + 1


@register_func("test.pass_loops.say", override=True)
def say(x):
    SAID.append(np.array(x))


@register_func("test.pass_loops.double", override=True)
def double(x):
    x *= 2
    return x


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for field in value for leaf in flat(field)]
    return [np.asarray(value)]


def results(module):
    vm, found = relax.VirtualMachine(relax.build(module, "llvm -O=0")), []
    SAID.clear()
    inputs = {"sized": (2, 4), "grows": (2, 3), "says": (5,), "images": (1, 4, 5, 5)}
    for name, shape in inputs.items():
        for turns in (0, 1, 3):
            x = np.random.default_rng(1).standard_normal(shape).astype("float32") / 4
            found += [np.array(each) for each in flat(vm[name](x, turns))]
    return found + SAID


@pytest.fixture(scope="module")
def module():
    return from_source(SOURCE, {"WEIGHT": WEIGHT})


@pytest.fixture(scope="module")
def expected(module):
    with transform.PassContext(opt_level=0):
        return results(module)


MIXED = [random.Random(seed).sample(PASSES, 12) for seed in range(3)]


@pytest.mark.parametrize("flags", [*([flag] for flag in PASSES), *MIXED], ids=",".join)
def test_loops_after_passes(module, expected, flags):
    changed = transform.Sequential.parse(f"builtin.module({','.join(flags)})")(module)
    with transform.PassContext(opt_level=0 if len(flags) == 1 else 3):
        found = results(changed)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
