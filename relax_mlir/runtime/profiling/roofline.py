"""The machine's roofline, measured: FMA, copy and read rates."""

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

_SPAN = 1e-3  # seconds between two readings, about
_LINE = 64
_FEW_REGISTERS = ("x86_64", "i386", "i686")  # 16 of vectors, where those have not 64 bytes
_PAGE = 4096
# A loop that keeps sums in registers.
_SUMS = """
define void @{name}({operands}i64 %rounds) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}
  %p = alloca {vector}
  store volatile {vector} %s{last}, ptr %p
  ret void
}}
"""
_FMA = "declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})\n"
_STEPS = 64  # of a product, whose operands are loaded again and again
# Steps of four lines, of one stretch of memory or of several that are walked side by side.
_WALK = """
define void @{name}(ptr %to, ptr %from, i64 %bytes, i64 %rounds) {{
entry:
  %stretch = udiv i64 %bytes, {stretches}
  br label %outer
outer:
  %r = phi i64 [0, %entry], [%r1, %again]
  br label %loop
loop:
  %i = phi i64 [0, %outer], [%i1, %loop]
{sums}
{lines}
  %i1 = add i64 %i, {step}
  %more = icmp ult i64 %i1, %stretch
  br i1 %more, label %loop, label %again
again:
  %r1 = add i64 %r, 1
  %turn = icmp ult i64 %r1, %rounds
  br i1 %turn, label %outer, label %done
done:
  fence seq_cst
{ends}
  ret void
}}
"""
_LINES = 4
_LINE_READ = """
  %b{j} = mul i64 %stretch, {stretch}
  %c{j} = add i64 %b{j}, {at}
  %d{j} = add i64 %c{j}, %i
  %g{j} = getelementptr i8, ptr %from, i64 %d{j}
  %v{j} = load <16 x i32>, ptr %g{j}, align 64"""
_LINE_WRITTEN = """
  %u{j} = getelementptr i8, ptr %to, i64 %d{j}
  store <16 x i32> %v{j}, ptr %u{j}, align 64{hint}"""
# Lines read later, into L2: a core has more of them under way than loads alone.
_AHEAD = """
  %e{j} = add i64 %d{j}, 2048
  %h{j} = getelementptr i8, ptr %from, i64 %e{j}
  call void @llvm.prefetch.p0(ptr %h{j}, i32 0, i32 2, i32 1)"""
_SUM = "  %s{j} = phi <16 x i32> [zeroinitializer, %outer], [%n{j}, %loop]"
_SUMMED = """
  %n{j} = add <16 x i32> %s{j}, %v{j}"""
_SUM_KEPT = "  store volatile <16 x i32> %n{j}, ptr %to, align 64"
# Ways to copy: what they are called, the hint of their stores, stretches.
_PAST = ", !nontemporal !0"
_COPIES = (("copy", "", 1), ("past1", _PAST, 1), ("past2", _PAST, 2), ("past4", _PAST, 4))
# Ways to read: names, stretches, whether lines are prefetched.
_READS = (("read", 1, False), ("ahead1", 1, True), ("ahead2", 2, True))
_PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"


class Roofs:
    """Measures what no kernel can exceed. What it runs is compiled on creation, for this CPU.

    Args:
        vector_bits: of the vectors that kernels have; by default the CPU's widest.
    """

    def __init__(self, vector_bits: int = 0) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
        widest = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
        self._lanes = min(vector_bits // 32, widest) if vector_bits else widest
        many = self._lanes == 16 or triple.split("-")[0] not in _FEW_REGISTERS
        # As many sums as registers hold next to two factors: they keep every unit busy.
        self._chains = 24 if many else 12
        # Rows and vectors of a register tile that needs few loads, and leaves some registers.
        self._tile = (8, 3) if many else (5, 2)
        source = _fma_text(self._lanes, self._chains) + _loaded_text(self._lanes, *self._tile)
        source += "".join(_walk_text(*way) for way in _COPIES)
        source += "".join(
            _walk_text(name, None, stretches, is_ahead) for name, stretches, is_ahead in _READS
        )
        flags = features.flatten() + (",-prefer-256-bit" if self._lanes == 16 else "")
        machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=flags, opt=3
        )
        module = llvm.parse_assembly(source + _PREFETCH + "!0 = !{i32 1}\n")
        self._engine: Any = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        at = self._engine.get_function_address
        self._fma = ctypes.CFUNCTYPE(None, ctypes.c_int64)(at("fma"))
        size = _STEPS * self._lanes * 4 * sum(self._tile)
        self._operands = _pages(size, 0).view(np.float32)
        self._operands[...] = np.random.default_rng(0).standard_normal(size // 4)
        loaded = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        place = self._operands.ctypes.data
        self._loaded = functools.partial(
            loaded(at("loaded")), place, place + 4 * _STEPS * self._tile[0]
        )
        copy = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )
        self._copies = [copy(at(name)) for name, _, _ in _COPIES]
        self._reads = [copy(at(name)) for name, _, _ in _READS]
        self._buffers: dict[tuple[int, int], list[list[np.ndarray]]] = {}

    def flops(self, threads: int = 1, seconds: float = 0.02) -> float:
        """Return the most float32 additions and multiplications in a second."""
        rounds = int(_SPAN * 8e9 / self._chains)
        amount = 2.0 * self._lanes * self._chains * rounds
        return _rate([functools.partial(self._fma, rounds)] * threads, amount, seconds)

    def loaded_flops(self, threads: int = 1, seconds: float = 0.02) -> float:
        """Return the most float32 operations in a second whose operands are loaded.

        They come from the first-level cache, as those of a matrix product do at best: a processor
        may run at a lower clock then than with operands that stay in registers.
        """
        rows, vectors = self._tile
        rounds = int(_SPAN * 8e9 / (rows * vectors))
        amount = 2.0 * self._lanes * rows * vectors * rounds
        return _rate([functools.partial(self._loaded, rounds)] * threads, amount, seconds)

    def bandwidth(self, total: float, threads: int = 1, seconds: float = 0.02) -> float:
        """Return the most bytes, read and written, that copying moves in a second.

        Args:
            total: bytes in use: half of them read, half written.
            threads: how many share the work.
            seconds: how long to measure, about.
        """
        return self._walked(self._copies, 2, total, threads, seconds)

    def reading(self, total: float, threads: int = 1, seconds: float = 0.02) -> float:
        """Return the most bytes that are read in a second; arguments as those of `bandwidth`."""
        return self._walked(self._reads, 1, total, threads, seconds)

    def _walked(
        self, kernels: Sequence[Any], buffers: int, total: float, threads: int, seconds: float
    ) -> float:
        size = max(1024, int(total / buffers / threads) // 1024 * 1024)
        key = (threads, size)
        if key not in self._buffers:
            self._buffers = {
                key: [[_pages(size, 1), _pages(size, 2, _PAGE // 2)] for _ in range(threads)]
            }
        places = [[array.ctypes.data for array in pair] for pair in self._buffers[key]]
        rounds = max(1, int(_SPAN * 4e10 / (buffers * size)))
        return max(
            _rate(
                [functools.partial(kernel, *pair, size, rounds) for pair in places],
                float(buffers * size * rounds),
                seconds / len(kernels),
            )
            for kernel in kernels
        )


def _fma_text(lanes: int, chains: int) -> str:
    """Return a function whose operands stay in registers."""
    vector = f"<{lanes} x float>"
    half, one = (f"splat (float {value})" for value in ("0.5", "1.0"))
    steps = [
        f"%b{i} = call {vector} @llvm.fma.v{lanes}f32"
        f"({vector} %a{i}, {vector} {half}, {vector} {one})"
        for i in range(chains)
    ]
    text = _sums_text("fma", "", vector, [one] * chains, steps)
    return text + _FMA.format(vector=vector, lanes=lanes)


def _loaded_text(lanes: int, rows: int, vectors: int) -> str:
    """Return a function whose operands come from the first-level cache, as a register tile's do."""
    vector = f"<{lanes} x float>"
    steps = [f"%step = and i64 %i, {_STEPS - 1}", f"%row = mul i64 %step, {vectors * lanes}"]
    for h in range(vectors):
        steps += [
            f"%o{h} = add i64 %row, {h * lanes}",
            f"%q{h} = getelementptr float, ptr %b, i64 %o{h}",
            f"%y{h} = load {vector}, ptr %q{h}, align 4",
        ]
    for r in range(rows):
        # A fence for the compiler alone: loads that are made earlier would take registers.
        steps += [
            'fence syncscope("singlethread") acq_rel',
            f"%i{r} = add i64 %step, {r * _STEPS}",
            f"%p{r} = getelementptr float, ptr %a, i64 %i{r}",
            f"%e{r} = load float, ptr %p{r}, align 4",
            f"%w{r} = insertelement {vector} poison, float %e{r}, i32 0",
            f"%x{r} = shufflevector {vector} %w{r}, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        ]
        steps += [
            f"%b{at} = call {vector} @llvm.fma.v{lanes}f32"
            f"({vector} %x{r}, {vector} %y{h}, {vector} %a{at})"
            for h, at in enumerate(range(r * vectors, (r + 1) * vectors))
        ]
    firsts = ["zeroinitializer"] * (rows * vectors)
    return _sums_text("loaded", "ptr %a, ptr %b, ", vector, firsts, steps)


def _sums_text(
    name: str, operands: str, vector: str, firsts: Sequence[str], steps: Sequence[str]
) -> str:
    """Return a function of a loop whose steps make each sum %b0, %b1 ... of %a0, %a1 ..."""
    phis = [
        f"%a{i} = phi {vector} [{first}, %entry], [%b{i}, %loop]" for i, first in enumerate(firsts)
    ]
    sums = [f"%s0 = fadd {vector} %b0, %b0"]
    sums += [f"%s{i} = fadd {vector} %b{i}, %s{i - 1}" for i in range(1, len(firsts))]
    lines = {"phis": phis, "steps": steps, "sums": sums}
    texts = {key: "\n".join(f"  {line}" for line in each) for key, each in lines.items()}
    return _SUMS.format(name=name, operands=operands, vector=vector, last=len(firsts) - 1, **texts)


def _walk_text(name: str, hint: str | None, stretches: int, is_ahead: bool = False) -> str:
    """Return a function that copies with a hint at its stores, or adds up what it reads."""
    each = _LINE_READ + (_SUMMED if hint is None else _LINE_WRITTEN) + _AHEAD * is_ahead
    lines = "".join(
        each.format(j=j, stretch=j % stretches, at=_LINE * (j // stretches), hint=hint)
        for j in range(_LINES)
    )
    sums, ends = (
        "\n".join(text.format(j=j) for j in range(_LINES) if hint is None)
        for text in (_SUM, _SUM_KEPT)
    )
    return _WALK.format(
        name=name, stretches=stretches, step=_LINE * _LINES // stretches, lines=lines, sums=sums,
        ends=ends,
    )  # fmt: skip


def _pages(size: int, value: int, lead: int = 0) -> np.ndarray:
    """Return bytes that begin so far in a page: copies to the same place in another are slower."""
    raw = np.full(size + _PAGE + lead, value, "u1")
    return raw[-raw.ctypes.data % _PAGE + lead :][:size]


def _rate(functions: Sequence[Callable[[], Any]], amount: float, seconds: float) -> float:
    """Return the most per second of functions that run at once, each doing `amount`."""
    spans: dict[int, tuple[float, float]] = {}
    rates: list[float] = []
    ended: list[bool] = []
    end = perf_counter() + seconds

    def judge() -> None:
        took = max(stop for _, stop in spans.values()) - min(start for start, _ in spans.values())
        rates.append(len(functions) * amount / took)
        ended.append(perf_counter() > end)

    begin = threading.Barrier(len(functions))
    finish = threading.Barrier(len(functions), judge)

    def run(index: int, function: Callable[[], Any]) -> None:
        while True:
            begin.wait()
            start = perf_counter()
            function()
            spans[index] = (start, perf_counter())
            finish.wait()
            if ended[-1]:  # nobody judges again before all have begun
                return

    workers = [threading.Thread(target=run, args=each) for each in enumerate(functions)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return max(rates)


_LOCK = threading.Lock()
_COPIED = 128 << 20  # bytes, half of them read and half written


class Peak(NamedTuple):
    """The best of some short measurements.

    Attributes:
        flops: float32 operations per second of one core, in fused multiply-adds of full vectors.
        bandwidth: bytes per second that one core reads and writes when it copies large memory.
    """

    flops: float
    bandwidth: float


@functools.lru_cache(maxsize=1)
def _measured() -> Peak:
    roofs = Roofs()
    return Peak(roofs.flops(), roofs.bandwidth(_COPIED))


def machine_peak() -> Peak:
    """Return the peak of one core; the first call takes some tenths of a second."""
    with _LOCK:
        return _measured()
