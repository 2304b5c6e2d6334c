"""`relax-compile --report`: class, tiles, vectors and roofline share of each kernel."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from relax_mlir.compiler import pipeline as builds
from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.describe import silence_warnings
from relax_mlir.lowering.tir_to_vector.lower_tir import lower_for
from relax_mlir.lowering.tir_to_vector.plan import plan_function, prepare
from relax_mlir.lowering.walk import first_below
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.text_table import text_table
from relax_mlir.tools.relax_compile.kernel_runs import Runs, Timing
from relax_mlir.tools.relax_compile.nest_plan import NestPlan, describe
from relax_mlir.transform.packing.pack_weights import packed_weights

# Seconds that a call of a kernel takes: one of 16 numbers, Zen 4.
_CALL = 1.4e-7
_ONE_NATIVE = "OutlineNative"
COLUMNS = ("kernel", "class", "tile", "vector", "threads", "limit", "expected", "measured")


@dataclass
class Kernel:
    """A row of the report.

    Attributes:
        name: as the program calls it.
        nests: what was chosen for each, in order.
        threads: the most that run it.
        flops: those of the FMAs that would take as long as its vector instructions should.
        has_while: whether a condition of the data ends it.
        timing: what was found by running it.
    """

    name: str
    nests: list[NestPlan]
    threads: int
    flops: float
    has_while: bool = False
    timing: Timing = field(default_factory=Timing)


def report(mod: IRModule, target: Target, pipeline: Sequence[str], sizes: Mapping[str, int]) -> str:
    """Return a table of a module's kernels, how each is planned, and what packed weights take.

    Args:
        mod: what to compile.
        target: what for; kernels for another machine are not run.
        pipeline: as in `relax.build`.
        sizes: values of symbolic sizes by name.

    Raises:
        PassError: a pass failed.
    """
    kernels, notes = measure(mod, target, pipeline, sizes)
    plans = [
        f"{'' if line.startswith(' ') else f'plan of {kernel.name}: '}{line}"
        for kernel in kernels
        for nest in kernel.nests
        for line in nest.lines
    ]
    return "\n".join([_table(kernels), *(["", *plans, ""] if plans else []), *notes])


def measure(
    mod: IRModule, target: Target, pipeline: Sequence[str], sizes: Mapping[str, int]
) -> tuple[list[Kernel], list[str]]:
    """Return a module's kernels, and lines about the whole of it.

    Every kernel is compiled by itself; where all its sizes are known it is run on random data.
    Arguments and errors are those of `report`.
    """
    machine = Machine.of(target)
    with kernels_alone(), silence_warnings():
        names = builds.stages(pipeline)
        lowered = mod.clone()
        if names:
            lowered = builds.lower(mod, names[-1], target=target, pipeline=pipeline)
        executable = builds.build(mod, target, relax_pipeline=pipeline or "default")
        weights = packed_weights(lowered.mlir_module.operation)
        kernels = _kernels(lowered, machine, sizes)
    runs = Runs(executable, sizes, machine.vector_bits)
    for kernel in kernels:
        kernel.timing = runs.limits(kernel.name, kernel.threads)
    for kernel in kernels:
        runs.run(kernel.name, kernel.timing, tried=kernel.has_while)
    return kernels, [*([weights] if weights else []), *runs.unused_sizes()]


@contextmanager
def kernels_alone() -> Iterator[None]:
    """Build so that each kernel can be called by itself."""
    now = PassContext.current()
    with PassContext(
        now.opt_level, now.required_pass, [*now.disabled_pass, _ONE_NATIVE], config=now.config
    ):
        yield


def _kernels(lowered: IRModule, machine: Machine, sizes: Mapping[str, int]) -> list[Kernel]:
    result: dict[str, Kernel] = {}
    module = lowered.mlir_module
    with module.context, ir.Location.unknown():
        for op in list(module.body.operations):
            if "relax.function" in op.operation.attributes:
                op.operation.erase()
            elif _is_kernel(op.operation):
                name = ir.StringAttr(op.operation.attributes["sym_name"]).value
                prepare(op, machine)
                nests = [describe(plan, sizes) for plan in plan_function(op, machine)]
                cycles = sum(nest.cycles or 0 for nest in nests)
                flops = cycles * 2 * machine.isa.lanes(32)
                result[name] = Kernel(name, nests, 1, flops, _holds(op.operation, "scf.while"))
        lower_for(module.operation, machine)
        for op in module.body.operations:
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            if name in result and _holds(op.operation, "omp.parallel"):
                result[name].threads = machine.threads
    return list(result.values())


def _is_kernel(op: ir.Operation) -> bool:
    return (
        "tir.prim_func" in op.attributes
        and "tir.internal" not in op.attributes
        # Sizes that the virtual machine needs are no kernels.
        and "tir.slots" not in op.attributes
        and len(op.regions[0].blocks) > 0
    )


def _holds(op: ir.Operation, name: str) -> bool:
    return first_below(op, lambda inner: inner.name == name) is not None


def _expected(kernel: Kernel) -> float | None:
    """Return the share of its limit that a kernel should reach, None where it is not known.

    It is above one where fewer FMAs do, as those of Winograd convolutions and dot products.
    """
    timing = kernel.timing
    if timing.limit is None:
        return None
    kinds = [kind for nest in kernel.nests for kind in nest.kinds]
    if "sort" in kinds or ("contraction" in kinds and not timing.fma_seconds):
        # Steps of a sort, and products of integers, are not counted.
        return None
    compute = kernel.flops / timing.peak
    slow = sum(not nest.vector for nest in kernel.nests) / max(1, len(kernel.nests))
    if slow:
        # One element after the other, and its address for each.
        compute = max(compute, timing.elements_seconds) * (1 + 31 * slow)
    return timing.limit / (max(timing.memory_seconds, compute) + _CALL)


def _table(kernels: Sequence[Kernel]) -> str:
    if not kernels:
        return "no kernels"
    return text_table([(*COLUMNS, ""), *map(row, kernels)])


def _runs(names: Iterable[str]) -> list[tuple[str, int]]:
    """Return names, and how often each follows itself."""
    return [(name, len(list(group))) for name, group in itertools.groupby(names)]


def row(kernel: Kernel) -> tuple[str, ...]:
    """Return a kernel's entries under `COLUMNS`, and notes."""
    timing, expected = kernel.timing, _expected(kernel)
    classes = ", ".join(
        f"{count} x {name}" if count > 1 else name
        for name, count in _runs("+".join(nest.kinds) for nest in kernel.nests)
    )
    tiles = dict.fromkeys(nest.tile or "1" for nest in kernel.nests)
    vectors = dict.fromkeys(nest.vector or "none" for nest in kernel.nests)
    measured = "-"
    if timing.seconds is not None:
        # Less than a call costs says nothing of the kernel.
        limit = timing.limit or 0.0
        share = f"{limit / timing.seconds:.0%}, " if limit > _CALL else ""
        measured = f"{share}{1e3 * timing.seconds:.3g} ms"
    notes = [f"no fast path: {', '.join(n.blocks)}: {n.reason}" for n in kernel.nests if n.reason]
    notes += [timing.note] if timing.note else []
    return (
        kernel.name, classes or "no loops", ", ".join(tiles) or "-", ", ".join(vectors) or "-",
        str(kernel.threads), timing.limit_text, "-" if expected is None else f"{expected:.0%}",
        measured, "; ".join(notes),
    )  # fmt: skip
