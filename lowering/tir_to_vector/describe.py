"""What is told of kernels: plans, for reports, and warnings of those without a fast path."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import BY_HAND_REASON, WITHOUT_BLOCKS, BlockInfo
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, Plan, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, cost, size_of
from relax_mlir.lowering.tir_to_vector.plan import matches

# Quiet it by its level: logging.getLogger("relax_mlir.kernels").setLevel(logging.ERROR).
LOGGER = logging.getLogger("relax_mlir.kernels")
# Steps from which on vectors pay.
_FEW = 64


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Log no warnings about kernels while the context is open."""
    before, LOGGER.disabled = LOGGER.disabled, True
    try:
        yield
    finally:
        LOGGER.disabled = before


@contextmanager
def capture_warnings() -> Iterator[list[str] | None]:
    """Collect the warnings of this thread; None if the logger is disabled."""
    if not LOGGER.isEnabledFor(logging.WARNING):
        yield None
        return
    collector = _Collector()
    LOGGER.addHandler(collector)
    try:
        yield collector.lines
    finally:
        LOGGER.removeHandler(collector)


def warn(line: str) -> None:
    """Log a line about a kernel, such as `capture_warnings` collected."""
    LOGGER.warning("%s", line)


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.lines.append(record.getMessage())


def slow_blocks(plans: Iterable[Plan]) -> list[BlockInfo]:
    """Return the blocks without a fast path that have something to do.

    Blocks of a few points, and scheduled ones, do not count.
    """
    return [
        info
        for plan in plans
        if plan.problem is None and not is_small(plan)
        for info in plan.blocks
        if not info.fast and info.reason != BY_HAND_REASON
    ]


def is_small(plan: Plan) -> bool:
    """Whether a plan's loops have only a few static steps."""
    return all(_points(top) < _FEW for top in plan.tops)


def sentence(kernel: str, blocks: Sequence[BlockInfo]) -> str:
    """Return the line for a kernel."""
    reasons: dict[str, list[str]] = {}
    for info in blocks:
        reasons.setdefault(info.reason, []).append(info.name)
    parts = [f"{', '.join(dict.fromkeys(n))}: {reason}" for reason, n in reasons.items()]
    return f"kernel '{kernel}' has no fast path ({'; '.join(parts)})"


class SlowKernels:
    """Warns of the kernels of a module without a fast path, equal ones once."""

    def __init__(self) -> None:
        self._warned: set[tuple[tuple[str, str], ...]] = set()

    def warn(self, kernel: str, plans: Iterable[Plan]) -> None:
        """Log a line if a kernel has blocks without a fast path."""
        if not LOGGER.isEnabledFor(logging.WARNING):
            return
        blocks = slow_blocks(plans)
        # Loops without blocks have no names that distinguish kernels.
        named = [info for info in blocks if info != WITHOUT_BLOCKS]
        whose = () if len(named) == len(blocks) else ((kernel, ""),)
        key = (*whose, *((info.name, info.reason) for info in blocks))
        if blocks and key not in self._warned:
            self._warned.add(key)
            warn(sentence(kernel, blocks))


def _points(op: ir.Operation, times: float = 1.0) -> float:
    """Return the maximal steps of nested loops; dynamic ones are infinite."""
    if op.name == "tir.for":
        extent = constant_or_value(op.operands[1])
        times *= extent if isinstance(extent, int) else float("inf")
    inside = [
        _points(inner.operation, times)
        for region in op.regions
        for block in region.blocks
        for inner in block.operations
    ]
    counts = op.name in ("tir.block", "tir.for")
    return max([times, *inside] if counts else inside, default=0.0)


@dataclass(frozen=True)
class NestPlan:
    """The plan of blocks that are lowered together.

    Attributes:
        blocks: their names.
        kinds: their classes, as `BlockInfo` has them.
        lines: the decision, its alternatives with their estimated costs, and why other kernel
            classes do not match.
        cycles: the estimated instructions' cycles of one unit for vectors; None for plain loops.
        tile: elements in registers at a time, such as `12x32` (rows by columns).
        vector: the vector type, such as `16 x f32`; empty for plain loops.
        reason: why there is no fast path; empty if there is one, or next to nothing to do.
    """

    blocks: tuple[str, ...]
    kinds: tuple[str, ...]
    lines: tuple[str, ...]
    cycles: float | None = None
    tile: str = ""
    vector: str = ""
    reason: str = ""


def describe(plan: Plan, sizes: Mapping[str, int] | None = None) -> NestPlan:
    """Return the description of a plan, before it is carried out.

    `sizes` are values of symbolic sizes, for estimates; others are assumed.
    """
    names = tuple(info.name for info in plan.blocks)
    # What is fast is a map, also where it writes only a part: padding, a copy into a whole.
    kinds = tuple(
        dict.fromkeys(
            "injective" if info.fast and info.kind == "opaque" else info.kind
            for info in plan.blocks
        )
    )
    reason = "; ".join(dict.fromkeys(info.reason for info in plan.blocks if info.reason))
    size = size_of(sizes)
    lines = tuple(_explain(plan, size))
    if plan.problem is None:
        return NestPlan(names, kinds, lines, reason="" if is_small(plan) else reason)
    chosen, element = plan.decision[-1], plan.form.element
    lanes = plan.machine.lanes(element)
    cycles = chosen.work(size).cycles
    if lanes is None:
        return NestPlan(names, kinds, lines, cycles, reason=reason)
    tile = _tile(chosen) or str(lanes)
    return NestPlan(names, kinds, lines, cycles, tile, f"{lanes} x {element}", reason)


def _explain(plan: Plan, size: Size) -> list[str]:
    """Return the decision, the alternatives, and why others do not match."""
    chosen = plan.kernel_class
    lines = ["plain loops"]
    if chosen is not None:
        decision = " or, as run time says, ".join(
            _estimate(each, plan.machine, size) for each in plan.decision
        )
        lines = [f"{chosen.name}: {decision}"]
        others = [each for each in plan.candidates if each not in plan.decision]
        lines += _list("other ways", [_estimate(each, plan.machine, size) for each in others])
    matched, reasons = [], dict[str, list[str]]()
    for kernel_class, problem in matches(plan.nests):
        if isinstance(problem, Problem):
            if kernel_class is not chosen:
                tops = [nest.top for nest in problem.nests]
                best = kernel_class.candidates(problem, plan.machine)[-1]
                part = f" for {len(tops)} of {len(plan.tops)} nests" if tops != plan.tops else ""
                matched.append(f"{kernel_class.name}: {_estimate(best, plan.machine, size)}{part}")
        else:
            reasons.setdefault(problem, []).append(kernel_class.name)
    lines += _list("other classes that match", matched)
    no = [f"{', '.join(names)} ({reason})" for reason, names in reasons.items()]
    return lines + _list("classes that do not match", no)


def _list(title: str, entries: Sequence[str]) -> list[str]:
    return [f"  {title}: {'; '.join(entries)}"] if entries else []


def _estimate(candidate: Candidate, machine: Machine, size: Size) -> str:
    cycles = cost(candidate.work(size), machine)
    return " ".join(filter(None, (candidate.name, _tile(candidate), f"({cycles:.2g} cycles)")))


def _tile(candidate: Candidate) -> str:
    return "x".join(map(str, candidate.tile))
