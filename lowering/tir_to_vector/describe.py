"""Warnings of kernels without a fast path."""

import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import BY_HAND_REASON, WITHOUT_BLOCKS, BlockInfo
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value
from relax_mlir.lowering.tir_to_vector.kernel_class import Plan

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
