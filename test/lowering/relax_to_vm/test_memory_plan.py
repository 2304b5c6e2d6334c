"""Memory plans: what lives at once never overlaps, whatever the sizes, and little is wasted."""

import gc
import random
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir import register_func, relax
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.errors import VMError
from relax_mlir.lowering.relax_to_vm.storage_plan import (
    Allocation,
    least,
    needed,
    plan_arena,
    unplanned,
)
from relax_mlir.lowering.relax_to_vm.symbolic_sizes import ALIGNMENT
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext

n, m = SymExpr.var("n"), SymExpr.var("m")
_VALUES = ((0, 5), (5, 0), (1, 7), (7, 1), (128, 128), (1000, 3), (3, 1000))
_SIZES = {
    "constant": lambda c, pick: SymExpr.const(c),
    "one symbol": lambda c, pick: (n * c, n * n * 4, n * 64, SymExpr.const(c))[pick],
    "two symbols": lambda c, pick: (n * c, m * c, n.max(m) * 4, n * m * 8)[pick],
}
allocations = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(0, 400), st.integers(0, 3)),
    max_size=14,
)


def _allocations(drawn, kind):
    return [
        Allocation(_SIZES[kind](4 * c, p), start, start + length) for start, length, c, p in drawn
    ]


@pytest.mark.parametrize("kind", _SIZES)
@settings(max_examples=60, deadline=None)
@given(drawn=allocations)
@pytest.mark.slow
def test_what_lives_at_once_never_overlaps(kind, drawn):
    given_ = _allocations(drawn, kind)
    plan = plan_arena(given_)
    for values in ({"n": a, "m": b} for a, b in _VALUES):
        sizes = [each.size.evaluate(values) for each in given_]
        offsets = [offset.evaluate(values) for offset in plan.offsets]
        total = plan.total.evaluate(values)
        assert total >= least(given_, values) >= 0
        assert least(given_, values) >= needed(given_).evaluate(values)
        assert total <= max(unplanned(given_).evaluate(values), 1) or kind != "constant"
        for i, one in enumerate(given_):
            assert offsets[i] % ALIGNMENT == 0
            assert offsets[i] + sizes[i] <= total
            for j, other in enumerate(given_[:i]):
                if one.start <= other.end and other.start <= one.end:
                    apart = (
                        offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
                    )
                    assert apart, (one, other)


@pytest.mark.parametrize("kind", _SIZES)
def test_plans_are_near_the_least(kind):
    ratios = []
    for seed in range(6):
        rng = random.Random(seed)
        drawn = [
            (start, rng.choice((0, 1, 1, 2, 6)), rng.randrange(1, 400), rng.randrange(3))
            for start in range(24)
        ]
        given_ = _allocations(drawn, kind)
        plan = plan_arena(given_)
        for values in ({"n": 128, "m": 128}, {"n": 1000, "m": 16}, {"n": 16, "m": 1000}):
            ratios.append(plan.total.evaluate(values) / least(given_, values))
    assert sum(ratios) / len(ratios) <= 1.05
    assert max(ratios) <= 1.4


def test_a_chain_of_equal_sizes_takes_two():
    chain = [Allocation(n * 64, i, i + 1) for i in range(20)]
    assert plan_arena(chain).total == n * 128


def test_declared_bounds_order_sizes():
    facts = Facts()
    facts.bound("n", upper=8)
    pair = [Allocation(n * 64, 0, 0), Allocation(SymExpr.const(512), 1, 1)]
    assert plan_arena(pair, facts).total == 512
    assert plan_arena(pair).total == (n * 64).max(512)


def test_no_tensor_takes_nothing():
    assert plan_arena([]).total == 0
    assert plan_arena([Allocation(SymExpr.const(0), 0, 3)]).total == 0


_HEAD = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"),
             w: R.Tensor(("n", 4), "float32"), v: R.Tensor(("k",), "float32")):
"""


def _program(seed):
    """Return a program of many live tensors of n, m, k and their sums, with checks that n is k."""
    rng = random.Random(seed)
    values = [("x", "n"), ("y", "m"), ("w", "n,4"), ("v", "k")]
    lines = []
    for i in range(rng.choice((8, 20, 40))):
        (a, shape), name = rng.choice(values), f"t{i}"
        kind = rng.choice(("unary", "binary", "cast", "concat", "sum", "flatten"))
        other = rng.choice([value for value, each in values if each == shape])
        tail, tail_shape = rng.choice([v for v in values if "," not in v[1]])
        if kind == "unary":
            function = rng.choice(("exp", "negative", "nn.relu"))
            text = f"R.{function}(R.multiply({a}, R.const(0.25, 'float32')))"
        elif kind == "binary":
            text = f"R.{rng.choice(('add', 'maximum', 'multiply'))}(R.tanh({a}), {other})"
        elif kind == "cast" and shape == "n":
            text, shape = f"R.match_cast(R.tanh({a}), R.Tensor(('k',), 'float32'))", "k"
        elif kind == "concat" and "," not in shape and len(shape + tail_shape) < 12:
            text, shape = f"R.concat(({a}, {tail}), axis=0)", f"{shape} + {tail_shape}"
        elif kind == "sum" and "," in shape:
            text, shape = f"R.sum({a}, axis=1)", "n"
        elif kind == "flatten" and "," in shape:
            text, shape = f"R.flatten({a})", "n * 4"
        else:
            continue
        lines.append(f"        {name} = {text}")
        values.append((name, shape))
    made = [name for name, _ in values[4:]] or ["x"]
    results = [made[-1], *rng.sample(made, min(2, len(made)))]
    return _HEAD + "\n".join(lines) + f"\n        return ({', '.join(results)},)\n"


def _outcome(machine, arguments):
    try:
        return [np.array(each) for each in machine["main"](*arguments)]
    except VMError as error:
        return str(error).split("\n")[0]


@pytest.mark.parametrize("seed", range(4))
def test_planned_programs_compute_what_unplanned_do(seed):
    module = from_source(_program(seed))
    machines = []
    for settings_ in ({"opt_level": 0}, {"disabled_pass": ["FuseKernels"]}, {},
                      {"disabled_pass": ["OutlineNative", "FuseKernels"]}):  # fmt: skip
        with PassContext(**settings_):
            machines.append(relax.VirtualMachine(relax.build(module, "llvm -O=0")))
    for size, other, third in ((3, 7, 3), (7, 3, 7), (0, 5, 0), (5, 0, 5), (33, 32, 33), (3, 4, 4)):
        rng = np.random.default_rng(size)
        arguments = [
            rng.standard_normal(shape, dtype=np.float32)
            for shape in ((size,), (other,), (size, 4), (third,))
        ]
        want, *found = [_outcome(machine, arguments) for machine in machines]
        for got in found:
            if isinstance(want, str):
                assert got == want
                continue
            for one, two in zip(got, want, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


KEPT = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        a = R.exp(x)
        s = R.call_packed("test.plan.keep", a, sinfo_args=R.Object())
        b = R.negative(x)
        t = R.call_packed("test.plan.keep", b, sinfo_args=R.Object())
        c = R.add(x, x)
        return c
"""


def test_what_a_packed_function_keeps_stays_as_it_is():
    kept = []

    @register_func("test.plan.keep", override=True)
    def keep(tensor):
        kept.append(tensor)
        return 0

    x = np.ones(30000, np.float32)
    relax.VirtualMachine(relax.build(from_source(KEPT)))["main"](x)
    np.testing.assert_allclose(kept[0], np.full(30000, np.e), rtol=1e-6)
    np.testing.assert_array_equal(kept[1], -x)


REPORTED = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), c: R.Tensor((), "bool"),
             u: R.Tensor(dtype="float32")):
        a = R.nn.softmax(x)
        b = R.nn.softmax(a)
        d = R.nn.softmax(b)
        e = R.matmul(d, R.permute_dims(d))
        q = R.unique(u)
        z = R.add(u, u)
        s = R.call_packed("test.plan.keep", e, sinfo_args=R.Object())
        if c:
            y = R.exp(e)
        else:
            y = R.negative(e)
        return (y, q, z)
"""


def test_memory_and_bytecode_are_reported():
    log = relax.BuildLog()
    executable = relax.build(from_source(REPORTED), log=log)
    arena = log.memory["main_native"]
    for size in (1, 7, 64):
        planned, without, least_ = (
            each.evaluate({"n": size}) for each in (arena.planned, arena.unplanned, arena.needed)
        )
        assert least_ <= planned <= 1.1 * least_
        assert planned < without
    text = executable.stats()
    assert f"Memory of main_native: {arena.planned} bytes; {arena.unplanned} without" in text
    for reason in (
        "vm.op.unique (data-dependent shape)",
        "vm.op.add (library operator: unknown rank)",
        "test.plan.keep (packed function)",
        "if (control flow: a branch)",
    ):
        assert reason in text
    assert "# packed function" in executable.as_text()


ALIASED = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def shift(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[n - 1 - vi]

    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        cls = Module
        a = R.call_tir(cls.shift, (x,), out_sinfo=R.Tensor(("n",), "float32"))
        b = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor(("n",), "float32"))
        c = R.call_tir(cls.shift, (b,), out_sinfo=R.Tensor(("n",), "float32"))
        d = R.call_tir(cls.twice, (c,), out_sinfo=R.Tensor(("n",), "float32"))
        return d

    @R.function
    def alone(x: R.Tensor(("n",), "float32")):
        a = R.call_tir(Module.twice, (x,), out_sinfo=R.Tensor(("n",), "float32"))
        return a
"""


@pytest.mark.parametrize("size", [0, 1, 5, 1000])
@pytest.mark.parametrize("level", [0, 3])
def test_only_kernels_that_look_at_one_point_write_over_their_arguments(size, level):
    log = relax.BuildLog()
    with PassContext(disabled_pass=["FuseKernels"]):
        executable = relax.build(from_source(ALIASED), f"llvm -O={level}", log=log)
    vm = relax.VirtualMachine(executable)
    x = np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(vm["main"](x), 4 * x)
    np.testing.assert_array_equal(vm["alone"](x), 2 * x)
    # `a` and `b` are one place, `c` is where the result goes.
    assert log.memory["main_native"].planned.evaluate({"n": 16}) == 64


def test_a_build_leaves_no_cycles():
    module = from_source(REPORTED)
    relax.build(module, "llvm -O=0")
    gc.collect()
    gc.disable()
    try:
        relax.build(module, "llvm -O=0")
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [each for each in gc.garbage if "mlir" in type(each).__module__]
        functions = [each for each in gc.garbage if isinstance(each, types.FunctionType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
    assert not [each for each in functions if each.__module__.startswith("relax_mlir")]
