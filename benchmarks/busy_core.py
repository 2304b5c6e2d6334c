"""A CPU-bound process pinned to one core, as a neighbour that a benchmark has to share with."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

_LOOP = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@contextlib.contextmanager
def busy_core(cpu: int | None) -> Iterator[None]:
    """Keep a core busy meanwhile; None leaves all idle.

    Raises:
        ValueError: this process may not use that core.
    """
    if cpu is None:
        yield
        return
    allowed = sorted(os.sched_getaffinity(0))
    if cpu not in allowed:
        raise ValueError(f"no CPU {cpu}: this process may use {allowed}")
    process = subprocess.Popen([sys.executable, "-c", _LOOP, str(cpu)])
    try:
        yield
    finally:
        process.kill()
        process.wait()
