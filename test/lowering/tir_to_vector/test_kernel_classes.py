"""The registry of kernel classes: what it decides on several machines, and its reasons."""

from contextlib import contextmanager

import numpy as np
import pytest
from kernel_classes import classify

from relax_mlir import nd, relax, te, tir, topi
from relax_mlir.compiler import pipeline as builds
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector import plan as registry
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, decide
from relax_mlir.lowering.tir_to_vector.nest_cost import Work, cost, size_of
from relax_mlir.relax import op
from relax_mlir.script import relax as R
from relax_mlir.tools.relax_compile.nest_plan import describe

WIDE, NARROW, ARM = (
    "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids",
    "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3",
    "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2",
)
DECISIONS = [
    (WIDE, op.matmul, [(64, 64), (64, 96)], "GEMM", ["tiles 9x48"]),
    (NARROW, op.matmul, [(64, 64), (64, 64)], "GEMM", ["tiles 6x16"]),
    (ARM, op.matmul, [(64, 64), (64, 64)], "GEMM", ["tiles 12x8"]),
    (NARROW, op.matmul, [("m", 64), (64, 64)], "GEMM", ["skinny 6x16", "tiles 6x16"]),
    (NARROW, op.matmul, [(2, 64), (64, 64)], "GEMM", ["skinny 2x16"]),
    (WIDE, op.matmul, [(512, 512), (512, 4)], "GEMM", ["tall-skinny 1x16"]),
    (WIDE, op.nn.relu, [(7, "n")], "maps and reductions", ["vectors"]),
    (WIDE, op.permute_dims, [(64, 64)], "transpose", ["square tiles"]),
    (NARROW, op.nn.conv2d, [(1, 16, 14, 14), (32, 16, 3, 3)], "convolution of a packed input",
     ["direct 6x16"]),
]  # fmt: skip


@contextmanager
def _plans(function, shapes, target):
    bb = relax.BlockBuilder()
    inputs = [relax.Var(f"x{i}", R.Tensor(shape, "float32")) for i, shape in enumerate(shapes)]
    with bb.function("main", inputs):
        bb.emit_func_output(function(*inputs))
    machine = Machine.of(Target(target))
    module = builds.lower(bb.get(), builds.stages()[-1], target=Target(target)).mlir_module
    with module.context:
        kernels = [f for f in module.body.operations if "tir.prim_func" in f.operation.attributes]
        (kernel,) = [f for f in kernels if "tir.slots" not in f.operation.attributes]
        registry.prepare(kernel, machine)
        yield registry.plan_function(kernel, machine)


@pytest.mark.parametrize(("target", "function", "shapes", "name", "ways"), DECISIONS)
def test_the_decision(target, function, shapes, name, ways):
    with _plans(function, shapes, target) as plans:
        (plan,) = [plan for plan in plans if plan.kernel_class.name == name]
        found = [
            " ".join([each.name, "x".join(map(str, each.tile))]).strip() for each in plan.decision
        ]
        assert found == ways
        for each in plan.candidates:
            assert cost(each.work(size_of()), plan.machine) > 0
        assert describe(plan).lines[0].startswith(f"{name}: {ways[0]} (")


def test_reasons_name_every_class_that_does_not_match():
    with _plans(op.nn.relu, [(7, 9)], WIDE) as (plan,):
        told = "\n".join(describe(plan).lines)
    for each in registry.KERNEL_CLASSES:
        assert each.name in told
    assert "GEMM (" in told or "GEMM, " in told


def test_the_cheapest_is_taken_unless_a_condition_holds():
    machine = Machine.of(Target(WIDE))

    def way(name, cycles, when=None):
        return Candidate(name, lambda *_: None, lambda _: Work(cycles, 0), when=when)

    slow, fast = way("slow", 9), way("fast", 3)
    with _plans(op.nn.relu, [(7, 9)], WIDE):
        assert decide([slow, fast], machine) == [fast]
        never, always = (way("n", 1, lambda _: False), way("a", 99, lambda _: True))
        assert decide([never, slow, fast], machine) == [fast]
        assert decide([always, slow, fast], machine) == [always]


def test_a_class_is_one_object_in_the_registry(monkeypatch):
    def match(nests):
        if len(nests.tops) > 1:
            return "there are several nests"
        return registry.ROW_FUSION.match(nests)

    added = KernelClass("alone", match, registry.ROW_FUSION.candidates)
    monkeypatch.setattr(registry, "KERNEL_CLASSES", (added, *registry.KERNEL_CLASSES))
    with _plans(op.nn.relu, [(7, "n")], WIDE) as (plan,):
        assert plan.kernel_class is added
        assert plan.blocks[0].fast
    with _plans(op.nn.softmax, [(7, "n")], WIDE) as (plan, *_):
        assert plan.kernel_class is registry.ROW_FUSION
        assert any("alone (there are several nests)" in line for line in describe(plan).lines)


def _is_fast(func):
    with func.mlir_op.context:
        return all(info.fast for info in classify(func.mlir_op))


def _bag(rows, columns, sums):
    table = te.placeholder((11, columns), "float32", name="table")
    places = te.placeholder((rows, sums), "int64", name="places")
    k = te.reduce_axis((0, sums), "k")
    return [
        table,
        places,
        te.compute((rows, columns), lambda i, j: te.sum(table[places[i, k], j], axis=k)),
    ]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("rows", "columns", "sums"), [(0, 3, 2), (1, 1, 1), (5, 37, 3), (3, 64, 0)]
)
def test_sums_of_gathered_rows(dynamic, rows, columns, sums):
    sizes = (te.var("r", "int64"), te.var("c", "int64"), te.var("s", "int64"))
    func = te.create_prim_func(_bag(*(sizes if dynamic else (rows, columns, sums))))
    random = np.random.default_rng(0)
    table = random.standard_normal((11, columns)).astype("float32")
    places = random.integers(0, 11, (rows, sums))
    out = nd.array(np.full((rows, columns), np.nan, "float32"))
    tir.build(IRModule({"main": func}))["main"](nd.array(table), nd.array(places), out)
    np.testing.assert_allclose(out.numpy(), table[places].sum(1), rtol=1e-6, atol=1e-6)
    assert _is_fast(func)


@pytest.mark.parametrize("shape", [(1, 7, 3, 37), (2, 1, 1, 1), (1, "n", 4, "w")])
def test_windows_that_end_at_borders(shape):
    known = [{"n": 6, "w": 19}.get(size, size) for size in shape]
    sizes = [te.var(size, "int64") if isinstance(size, str) else size for size in shape]
    x = te.placeholder(sizes, "float32", name="x")
    func = te.create_prim_func([x, topi.nn.lrn(x, 5)])
    data = np.random.default_rng(1).standard_normal(known).astype("float32")
    out = nd.array(np.zeros(known, "float32"))
    tir.build(IRModule({"main": func}))["main"](nd.array(data), out)
    total = [(data[:, max(0, i - 2) : i + 3] ** 2).sum(1) for i in range(known[1])]
    expected = data / (2 + 1e-4 / 5 * np.stack(total, 1)) ** 0.75
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-6)
    assert _is_fast(func)
