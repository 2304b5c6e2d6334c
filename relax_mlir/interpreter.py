"""What a build asks of Python's interpreter while it lasts."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# How long a thread waits for one that computes in Python, in seconds. LLVM compiles kernels in
# other threads, by many short calls: after each these wait for the thread that lowers the next.
_SWITCH_INTERVAL = 2e-4
_LOCK = threading.Lock()
_builds = 0
_before = (True, 0.0)


@contextmanager
def tuned_for_builds() -> Iterator[None]:
    """Collect no garbage, and let other threads have their turn soon; for a decorator too.

    Builds make many objects and few cycles: looking for those took a twentieth of their time. What
    was set before is set again when the last of several builds ends.
    """
    global _builds, _before
    with _LOCK:
        _builds += 1
        if _builds == 1:
            _before = gc.isenabled(), sys.getswitchinterval()
            gc.disable()
            sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        with _LOCK:
            _builds -= 1
            if not _builds:
                collects, interval = _before
                sys.setswitchinterval(interval)
                if collects:
                    gc.enable()
