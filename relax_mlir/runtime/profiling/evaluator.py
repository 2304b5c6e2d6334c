"""Timing a function: `number` calls per measurement, `repeat` measurements (TVM's semantics)."""

import gc
import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError


@dataclass(frozen=True)
class BenchmarkResult:
    """Seconds per call.

    Attributes:
        results: one entry per measurement, each the mean of its calls.
        mean: mean of `results`.
        median: median of `results`.
        max: largest of `results`.
        min: smallest of `results`.
        std: standard deviation of `results`.
    """

    results: tuple[float, ...]
    mean: float = field(init=False)
    median: float = field(init=False)
    max: float = field(init=False)
    min: float = field(init=False)
    std: float = field(init=False)

    def __post_init__(self) -> None:
        for name in ("mean", "median", "max", "min", "std"):
            object.__setattr__(self, name, float(getattr(np, name)(self.results)))

    def percentile(self, percent: float) -> float:
        """Return the time that so many percent of the measurements do not exceed."""
        return float(np.percentile(self.results, percent))

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = "".join(f"{name + ' (ms)':^14}" for name in names)
        row = "".join(f"{1e3 * getattr(self, name):^14.4f}" for name in names)
        return f"Execution time summary:\n{head.rstrip()}\n{row.rstrip()}"


def evaluate(
    call: Callable[[], Any],
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    before: Callable[[], Any] | None = None,
) -> BenchmarkResult:
    """Time a function without arguments, after one call that is not counted.

    Args:
        call: what to time.
        number: calls per measurement.
        repeat: measurements.
        min_repeat_ms: `number` grows until a measurement takes at least so long.
        cooldown_interval_ms: pause between groups of measurements.
        repeats_to_cooldown: measurements in a group.
        before: called before each measurement, not timed.

    Raises:
        ArgumentTypeError: a count below 1 or a negative time.
    """
    number, repeat, group = _counts(number=number, repeat=repeat, group=repeats_to_cooldown)
    if min_repeat_ms < 0 or cooldown_interval_ms < 0:
        raise ArgumentTypeError("times cannot be negative: min_repeat_ms, cooldown_interval_ms")
    call()
    results = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        for i in range(repeat):
            if cooldown_interval_ms and i and i % group == 0:
                time.sleep(cooldown_interval_ms / 1e3)
            if before is not None:
                before()
            while True:
                seconds = _time(call, number)
                if 1e3 * seconds >= min_repeat_ms:
                    break
                number = max(number + 1, int(number * min_repeat_ms / (1e3 * seconds + 1e-9)) + 1)
            results.append(seconds / number)
    finally:
        if collecting:
            gc.enable()
    return BenchmarkResult(tuple(results))


def _time(call: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return time.perf_counter() - start


def _counts(**given: Any) -> Sequence[int]:
    for name, value in given.items():
        try:
            good = operator.index(value) >= 1
        except TypeError:
            good = False
        if not good:
            raise ArgumentTypeError(f"time_evaluator: '{name}' must be at least 1, got {value!r}")
    return [operator.index(value) for value in given.values()]
