"""The default number of threads of kernels: the CPUs of this process."""

import functools
import os
from pathlib import Path

from relax_mlir.errors import PipelineError

# Says it instead, as TVM_NUM_THREADS does to TVM.
ENVIRONMENT = "RELAX_MLIR_NUM_THREADS"
# What a container may use: microseconds of CPU time in each period of so many, or "max".
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """Return how many threads kernels may use when a target does not say.

    Raises:
        PipelineError: `RELAX_MLIR_NUM_THREADS` is no number from 1 on.
    """
    asked = os.environ.get(ENVIRONMENT, "")
    if not asked:
        return cpu_count()
    if not asked.isdecimal() or not int(asked):
        raise PipelineError(f"{ENVIRONMENT} must be a number from 1 on, got '{asked}'")
    return int(asked)


@functools.lru_cache(maxsize=1)
def cpu_count() -> int:
    """Return how many CPUs this process may use: those it is bound to, less what it is rationed."""
    if hasattr(os, "sched_getaffinity"):
        bound = len(os.sched_getaffinity(0))
    else:
        bound = os.cpu_count() or 1
    return max(1, min(bound, rationed(_QUOTA)))


def rationed(quota: Path) -> int:
    """Return how many CPUs a cgroup's file (`cpu.max`) gives, rounded up; many without one."""
    most = 1 << 16
    try:
        allowed, period = quota.read_text().split()
        return most if allowed == "max" else -(-int(allowed) // int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return most
