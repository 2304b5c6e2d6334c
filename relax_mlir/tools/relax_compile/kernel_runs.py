"""Timing each kernel of an executable on random data, against the roofline."""

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from threading import Barrier, BrokenBarrierError
from time import perf_counter
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, RelaxMLIRError, did_you_mean
from relax_mlir.runtime.device.memory import NaiveAllocator
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.native.loader import ffi_tensor, load_objects, native_error
from relax_mlir.runtime.profiling.costs import expression
from relax_mlir.runtime.profiling.roofline import Roofs
from relax_mlir.runtime.values.convert import numpy_dtype

_SECONDS = 0.05
_PEAK_SECONDS = 0.1
_READING = 30e-6
# How many seconds another process may take to load an executable, and then the first call of a
# kernel with a `while`.
_LOADING = 60.0
_PATIENCE = 5.0
_MAX_BYTES = 1 << 32
# Copies of less are of what the first-level cache holds, and say nothing of memory.
_MIN_COPIED = 1 << 17
# Shares of the bytes below which writing results does not count.
_WRITTEN = 1 / 16


@dataclass
class Timing:
    """What is known of a kernel's time.

    Attributes:
        seconds: the best of its calls, None when it was not run.
        limit: the least that the machine needs for its arithmetic and its tensors, in seconds.
        limit_text: what limits it.
        fma_seconds: what its arithmetic takes at the peak of multiply-adds.
        memory_seconds: what its tensors take at the bandwidth of the memory that they fit.
        peak: multiplications and additions of float32 in a second, at that peak.
        elements_seconds: what one multiply-add for each element of its tensors takes there.
        note: why something is missing.
    """

    seconds: float | None = None
    limit: float | None = None
    limit_text: str = "-"
    fma_seconds: float = 0.0
    memory_seconds: float = 0.0
    elements_seconds: float = 0.0
    peak: float = 1.0
    note: str = ""


class Runs:
    """Runs kernels of an executable.

    Args:
        executable: kernels that are called by themselves.
        sizes: values of symbolic sizes by name.
        vector_bits: of the vectors that the kernels have; by default the CPU's widest.
    """

    def __init__(
        self, executable: Executable, sizes: Mapping[str, int], vector_bits: int = 0
    ) -> None:
        self._executable = executable
        self._costs: dict[str, Any] = executable.metadata.get("kernels") or {}
        self._sizes = dict(sizes)
        self._random = np.random.default_rng(0)
        self._roofs: Roofs | None = None
        self._vector_bits = vector_bits
        self._peaks: dict[Any, float] = {}
        self._functions: dict[str, Callable[..., Any]] = {}
        self._refusal = ""
        try:
            self._functions = load_objects(executable.native)
        except RelaxMLIRError as error:
            self._refusal = str(error)

    def limits(self, name: str, threads: int) -> Timing:
        """Return what the machine allows a kernel, or why that cannot be said.

        Ask for all kernels before one runs: the threads of a parallel one wait actively afterwards.

        Args:
            name: the kernel.
            threads: how many run it.
        """
        entry = self._costs.get(name)
        if self._refusal or entry is None or name not in self._functions:
            return Timing(note=self._refusal or "it is not called by itself")
        missing = self._missing(entry)
        if missing:
            unknown = ",".join(f"{each}=..." for each in missing)
            return Timing(note=f"for times give --report-size={unknown}")
        try:
            tensors = self._tensors(entry)
        except ArgumentTypeError as error:
            return Timing(note=f"it was not run: {error}")
        if any(size < 0 for shape, _ in tensors for size in shape):
            return Timing(note="with these sizes a tensor has less than nothing")
        total = sum(math.prod(shape) * kind.itemsize for shape, kind in tensors)
        if total > _MAX_BYTES:
            return Timing(note=f"its tensors have {total} bytes")
        return self._limits(entry, tensors, threads)

    def run(self, name: str, timing: Timing, tried: bool = False) -> None:
        """Run a kernel for which there are limits, and add its time to them.

        Args:
            name: the kernel.
            timing: its limits.
            tried: whether it is called in another process first, as it may not end.
        """
        if timing.note:
            return
        if tried:
            timing.note = _trouble(self._executable, self._sizes, name)
        if timing.note:
            return
        try:
            timing.seconds = _best(self.function(name), self.arguments(name))
        except Exception as error:
            timing.note = f"it did not run: {native_error(error)}"

    def function(self, name: str) -> Callable[..., Any]:
        """Return the kernel of this name."""
        return self._functions[name]

    def arguments(self, name: str) -> list[Any]:
        """Return what a kernel can be called with: random tensors, and its sizes."""
        entry = self._costs[name]
        arrays = [self._array(shape, kind) for shape, kind in self._tensors(entry)]
        return [*map(ffi_tensor, arrays), *(self._value(each) for each in entry["ints"])]

    def _tensors(self, entry: Mapping[str, Any]) -> list[tuple[list[int], np.dtype]]:
        shapes = [[self._value(dim) or 0 for dim in shape] for shape in entry["params"]]
        kinds = [numpy_dtype(dtype) for dtype in entry["dtypes"]]
        return list(zip(shapes, kinds, strict=True))

    def unused_sizes(self) -> list[str]:
        """Return a line about each size that no kernel has."""
        texts = [
            text
            for entry in self._costs.values()
            for text in (*(dim for shape in entry["params"] for dim in shape), *entry["ints"])
        ]
        names = sorted({name for text in texts for name in _names(text)})
        return [
            f"no kernel has a size '{each}'{did_you_mean(each, names)}"
            for each in self._sizes if each not in names
        ]  # fmt: skip

    def _missing(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the sizes that are needed and not known."""
        texts = [dim for shape in entry["params"] for dim in shape] + entry["ints"]
        unknown = [text for text in texts if self._value(text) is None]
        names = [name for text in unknown for name in _names(text)]
        return [name for name in dict.fromkeys(names) if name not in self._sizes]

    def _value(self, text: Any) -> int | None:
        return expression(text)(self._sizes)

    def _array(self, shape: list[int], kind: np.dtype) -> np.ndarray:
        size = math.prod(shape)
        memory = NaiveAllocator().alloc(size * kind.itemsize)
        array = np.frombuffer(memory, kind, size).reshape(shape) if size else np.empty(shape, kind)
        # Integers may be indices: zero is a good one.
        numbers = self._random.random(shape) if kind.kind not in "iu" else 0
        array[...] = numbers
        return array

    def _limits(
        self, entry: Mapping[str, Any], tensors: list[tuple[list[int], np.dtype]], threads: int
    ) -> Timing:
        if self._roofs is None:
            self._roofs = Roofs(self._vector_bits)
        roofs = self._roofs
        size = self._value(entry.get("bytes")) or 0
        flops = self._value(entry.get("flops")) or 0
        doubles = any(kind == np.float64 for _, kind in tensors)
        single = self._known("fma", threads, lambda: roofs.flops(threads, _PEAK_SECONDS))
        peak = single / (2 if doubles else 1)
        # To three bits: caches hold a share of what is little more than they are.
        unit = 1 << max(0, size.bit_length() - 3)
        moved = max(_MIN_COPIED, round(size / unit) * unit)
        shape, kind = tensors[-1] if tensors else ([], np.dtype("float32"))
        # Results come last.
        reads = math.prod(shape) * kind.itemsize < _WRITTEN * size
        way, measure = ("read", roofs.reading) if reads else ("copy", roofs.bandwidth)
        width = self._known((way, moved), threads, lambda: measure(moved, threads))
        fma, memory = flops / peak, size / width
        text = f"{way} {width / 1e9:.0f} GB/s"
        if fma >= memory:
            text = f"FMA {peak / 1e9:.0f} GFLOP/s"
        elements = sum(math.prod(shape) for shape, _ in tensors)
        most = max(fma, memory) or None
        return Timing(None, most, text, fma, memory, 2 * elements / peak, single)

    def _known(self, what: Any, threads: int, measure: Callable[[], float]) -> float:
        if (what, threads) not in self._peaks:
            self._peaks[what, threads] = measure()
        return self._peaks[what, threads]


def _names(text: Any) -> list[str]:
    return [n for n in re.findall(r"[A-Za-z_]\w*", str(text)) if n not in ("min", "max")]


def _trouble(executable: Executable, sizes: Mapping[str, int], name: str) -> str:
    """Call a kernel in another process, and return why it should not be called in this one."""
    # A fork would inherit locks that threads of this process hold.
    context = get_context("spawn")
    loaded = context.Barrier(2)
    arguments = (executable, sizes, name, loaded)
    process = context.Process(target=_call, args=arguments, daemon=True)
    process.start()
    with contextlib.suppress(BrokenBarrierError):
        loaded.wait(_LOADING)
    process.join(_PATIENCE)
    if process.exitcode is None:
        process.kill()
        return f"it did not end within {_PATIENCE:g} s; integers were zeros"
    return f"signal {-process.exitcode} ended it" if process.exitcode < 0 else ""


def _call(executable: Executable, sizes: Mapping[str, int], name: str, loaded: Barrier) -> None:
    runs = Runs(executable, sizes)
    loaded.wait()
    # What it raises, it raises again when it is called for its time.
    with contextlib.suppress(Exception):
        runs.function(name)(*runs.arguments(name))


def _best(function: Callable[..., Any], arguments: list[Any]) -> float:
    """Return the best time of a call, in seconds."""
    function(*arguments)
    start = perf_counter()
    function(*arguments)
    once = perf_counter() - start
    number = max(1, round(_READING / (once + 1e-9)))
    best, end = once, start + _SECONDS
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(number):
            function(*arguments)
        best = min(best, (perf_counter() - start) / number)
    return best
