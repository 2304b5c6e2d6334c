"""The registry of kernel classes: what it decides on several machines, and its reasons."""

from contextlib import contextmanager

import pytest

from relax_mlir import relax
from relax_mlir.compiler import pipeline as builds
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector import plan as registry
from relax_mlir.lowering.tir_to_vector.describe import describe
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, decide
from relax_mlir.lowering.tir_to_vector.nest_cost import Work, cost, size_of
from relax_mlir.relax import op
from relax_mlir.script import relax as R

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
