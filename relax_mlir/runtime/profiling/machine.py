"""What one core of this machine can do at best: measured, once per process."""

import functools
import os
import threading
from typing import NamedTuple

from relax_mlir.runtime.profiling.roofs import Roofs

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


def thread_count() -> int:
    """Return how many threads code that runs on several uses: OMP_NUM_THREADS, or the cores."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if first.isdigit() and int(first) > 0:
        return int(first)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
