"""Passes from Relax to Relax: a program computes after them what it computed before."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir import register_func, relax, transform
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

PASSES = {
    name: getattr(transform, name)
    for name in (
        "EliminateCommonSubexpr",
        "DeadCodeElimination",
        "CanonicalizeBindings",
        "FoldConstant",
        "InferType",
        "Normalize",
        "ConvertToDataflow",
    )
}

PROGRAM = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def double(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        with T.grid(n) as i:
            B[i] = A[i] * 2.0

    @R.function(private=True)
    def helper(x: R.Tensor(("a", "b"), "float32"), unused: R.Tensor(("a", "b"), "float32")):
        y = R.exp(x)
        return y

    @R.function
    def pure(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            c = R.const([1.0, 2.0, 3.0, 4.0])
            d = R.call_tir(Module.double, (R.exp(c),), R.Tensor((4,), "float32"))
            a = R.add(x, d)
            b = R.add(d, x)
            dead = R.exp(b)
            m = R.match_cast(R.multiply(a, b), R.Tensor(("k", "m"), "float32"))
            f: R.Tensor(ndim=1, dtype="float32") = R.flatten(m)
            R.output(f, dead)
        again = R.multiply(f, f)
        return (again, R.shape_of(f))

    @R.function
    def impure(x: R.Tensor(("n",), "float32")):
        a = R.exp(x)
        b = R.exp(x)
        c = R.exp(R.const([1.0, 2.0]))
        s = R.call_packed("test.passes.double", b, sinfo_args=R.Object)
        t = R.call_packed("test.passes.double", c, sinfo_args=R.Object)
        u = R.call_packed("test.passes.double", x, sinfo_args=R.Object)
        d = R.exp(x)
        return (R.add(a, b), c, d)

    @R.function
    def branches(flag: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")):
        e = R.exp(x)
        if flag:
            p = R.exp(x)
            q = R.match_cast(p, R.Tensor(("n", "k"), "float32"))
            r = R.sum(R.multiply(q, e), axis=1)
        else:
            v = R.unique(R.flatten(x))
            l = R.match_cast(v, R.Tensor(("k",), "float32"))
            h = Module.helper(x, e)
            r = R.add(R.sum(h, axis=1), R.sum(l))
        return r

    @R.function
    def wide(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor):
        a = R.exp(x)
        b: R.Tensor = R.add(a, y)
        return (b, a)
"""


@register_func("test.passes.double", override=True)
def double_in_place(x):
    x *= 2
    return x


def results(module: IRModule) -> list:
    vm = relax.VirtualMachine(relax.build(module))
    rng = np.random.default_rng(0)
    found = []
    for n in (0, 1, 3, 17):
        x = rng.standard_normal((n, 4), dtype=np.float32)
        found.append(vm["pure"](x))
        for _ in range(2):
            found.append(vm["impure"](x.flatten()))
        found.append(vm["branches"](np.array(True), x))
        found.append(vm["branches"](np.array(False), x))
        found.append(vm["wide"](x, x[:1] if n else x))
    return found


def compare(got, wanted) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            compare(a, b)
    else:
        np.testing.assert_allclose(got, wanted, rtol=2e-6)


@pytest.fixture(scope="module")
def program() -> IRModule:
    return from_source(PROGRAM)


@pytest.fixture(scope="module")
def expected(program):
    return results(program)


@pytest.mark.parametrize("name", PASSES)
def test_pass_keeps_results(program, expected, name):
    compare(results(PASSES[name]()(program)), expected)


def test_all_passes_keep_results(program, expected):
    everything = transform.Sequential([make() for make in PASSES.values()] * 2)
    with transform.PassContext(opt_level=3):
        module = everything(program)
    assert "helper" in module
    compare(results(module), expected)
    assert str(everything(module)) == str(module)


@pytest.mark.parametrize("name", PASSES)
def test_pass_reaches_a_fixed_point(program, name):
    once = PASSES[name]()(program)
    assert str(PASSES[name]()(once)) == str(once)


def test_dead_code_elimination_from_entry_functions(program):
    kept = transform.DeadCodeElimination(["branches"])(program)
    # Functions that are not private are entries as well.
    assert str(kept) == str(transform.DeadCodeElimination(entry_functions=None)(program))
    assert str(transform.DeadCodeElimination("branches")(program)) == str(kept)


def test_fold_constant_keeps_scopes_of_symbols():
    module = from_source(
        """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor, y: R.Tensor):
        if R.const(True):
            with R.dataflow():
                a = R.match_cast(x, R.Tensor(("m", 4), "float32"))
                b = R.exp(a)
                R.output(b)
            r = R.sum(b)
        else:
            r = R.const(1.0)
        z = R.match_cast(y, R.Tensor(("m", 4), "float32"))
        q = R.exp(z)
        return (r, q)
"""
    )
    x, y = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)
    folded = transform.FoldConstant()(module)
    total, exp = relax.VirtualMachine(relax.build(folded))["main"](x, y)
    compare((total, exp), (np.exp(x).sum(), np.exp(y)))
