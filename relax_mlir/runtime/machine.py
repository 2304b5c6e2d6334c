"""What one core of this machine can do at best: measured, once per process."""

import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_LOCK = threading.Lock()
_CHAINS = 12
_ROUNDS = 20_000
_COPY_BYTES = 64 << 20


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
    return Peak(_flops(), _bandwidth())


def machine_peak() -> Peak:
    """Return the peak of one core; the first call takes about a tenth of a second."""
    with _LOCK:
        return _measured()


def thread_count() -> int:
    """Return how many threads code that runs on several uses: OMP_NUM_THREADS, or the cores."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if first.isdigit() and int(first) > 0:
        return int(first)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _lanes(features: dict[str, bool]) -> int:
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx2") else 4


def _flops() -> float:
    """Return what chains of fused multiply-adds that do not depend on each other reach."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    lanes = _lanes(dict(llvm.get_host_cpu_features()))
    vector = f"<{lanes} x float>"
    chains = range(_CHAINS)
    phis = "\n".join(f"  %a{i} = phi {vector} [ %start, %entry ], [ %b{i}, %loop ]" for i in chains)
    steps = "\n".join(
        f"  %b{i} = call {vector} @llvm.fma.v{lanes}f32({vector} %a{i}, {vector} %x, {vector} %x)"
        for i in chains
    )
    sums = "\n".join(
        f"  %s{i} = fadd {vector} {f'%s{i - 1}' if i else '%start'}, %b{i}" for i in chains
    )
    module = llvm.parse_assembly(
        f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})
define float @peak(i64 %rounds, float %value) {{
entry:
  %one = insertelement {vector} poison, float %value, i32 0
  %x = shufflevector {vector} %one, {vector} poison, <{lanes} x i32> zeroinitializer
  %start = fadd {vector} %x, %x
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{steps}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %loop, label %end
end:
{sums}
  %r = extractelement {vector} %s{_CHAINS - 1}, i32 0
  ret float %r
}}"""
    )
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        signature = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)
        run = signature(engine.get_function_address("peak"))
        best = min(_seconds(lambda: run(_ROUNDS, 0.0)) for _ in range(15))
    return 2.0 * lanes * _CHAINS * _ROUNDS / best


def _bandwidth() -> float:
    source = np.ones(_COPY_BYTES, np.uint8)
    target = np.ones(_COPY_BYTES, np.uint8)
    best = min(_seconds(lambda: np.copyto(target, source)) for _ in range(5))
    return 2.0 * _COPY_BYTES / best


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
