"""The profiler: times every call of the bytecode."""

import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.bytecode.builtins import BUILTINS
from relax_mlir.runtime.native.threads import num_threads
from relax_mlir.runtime.profiling.costs import KernelCosts
from relax_mlir.runtime.profiling.profile import CallRecord, Report


class Profiler:
    """Runs functions in a machine whose calls are all timed; one at a time."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._lock = threading.Lock()
        self._costs = KernelCosts(machine.executable.metadata)
        self._records: list[tuple[str, str, int, int, int, tuple[Any, ...]]] = []
        self._inside: list[int] = []
        self._spent = 0
        self._native = {s for obj in machine.executable.native for s in obj.symbols}
        self._own = {func.name for func in machine.executable.global_funcs}
        machine._set_wrap(self._timed)

    def run(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any], repeat: int = 1
    ) -> Report:
        """Run a function and return its report; what it raises, this raises."""
        if type(repeat) is not int or repeat < 1:
            raise ArgumentTypeError(f"profile: 'repeat' must be at least 1, got {repeat!r}")
        call = self._machine[name]
        if name not in self._own:
            call = self._timed(name, call)
        with self._lock:
            call(*args, **kwargs)
            self._records.clear()
            self._spent = 0
            begin = perf_counter_ns()
            for _ in range(repeat):
                call(*args, **kwargs)
            seconds = 1e-9 * (perf_counter_ns() - begin - self._spent)
            records = [self._record(begin, *each) for each in self._records]
            self._records.clear()
        kernels = dict.fromkeys(record.name for record in records)
        parts = {name: self._costs.parts(name) for name in kernels}
        several = any(obj.is_parallel for obj in self._machine.executable.native)
        threads = num_threads() if several else 1
        merged = {name: names for name, names in parts.items() if len(names) > 1}
        return Report(name, repeat, seconds, records, threads, merged)

    def _timed(self, name: str, func: Callable[..., Any]) -> Callable[..., Any]:
        kind = self._kind(name)
        records, inside = self._records, self._inside

        def call(*args: Any) -> Any:
            entered = perf_counter_ns()
            inside.append(0)
            depth = len(inside)
            start = perf_counter_ns()
            try:
                return func(*args)
            finally:
                end = perf_counter_ns()
                # What an exception left behind is not there any more.
                within = inside[depth - 1]
                del inside[depth - 1 :]
                shapes = tuple([_shape(arg) for arg in args])
                records.append((name, kind, start, end - start, end - start - within, shapes))
                left = perf_counter_ns()
                self._spent += start - entered + left - end
                if inside:
                    inside[-1] += left - entered

        return call

    def _kind(self, name: str) -> str:
        if name in self._own:
            return "bytecode"
        if name in self._native:
            return "native"
        return "builtin" if name in BUILTINS else "packed"

    def _record(
        self, begin: int, name: str, kind: str, start: int, took: int, own: int, shapes: tuple
    ) -> CallRecord:
        sizes = [s[0] if type(s) is tuple else s for s in shapes]
        cost = self._costs.of(name, sizes)
        text = ", ".join(f"{s[1].name}{list(s[0])}" if type(s) is tuple else str(s) for s in shapes)
        return CallRecord(name, kind, 1e-9 * (start - begin), 1e-9 * took, 1e-9 * own, text, *cost)


def _shape(value: Any) -> Any:
    """Return what a report says of an argument: shape and dtype, the integer, or its type."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    return value if type(value) is int else type(value).__name__
