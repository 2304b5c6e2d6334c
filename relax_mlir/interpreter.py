"""What builds and loads ask of Python's interpreter while they last."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# How long a thread waits for one that computes in Python, in seconds. LLVM compiles kernels in
# other threads, by many short calls: after each these wait for the thread that lowers the next.
_SWITCH_INTERVAL = 2e-4
_LOCK = threading.Lock()
_pauses = _builds = 0
_collects, _interval = True, 0.0


@contextmanager
def without_collector() -> Iterator[None]:
    """Collect no garbage: builds and loads make many objects and few cycles; for a decorator too.

    Looking for those takes a twentieth of their time. What was set before is set again when the
    last of several ends.
    """
    global _pauses, _collects
    with _LOCK:
        _pauses += 1
        if _pauses == 1:
            _collects = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            _pauses -= 1
            if not _pauses and _collects:
                gc.enable()


@contextmanager
def tuned_for_builds() -> Iterator[None]:
    """Collect no garbage, and let other threads have their turn soon; for a decorator too."""
    global _builds, _interval
    with without_collector():
        with _LOCK:
            _builds += 1
            if _builds == 1:
                _interval = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_INTERVAL)
        try:
            yield
        finally:
            with _LOCK:
                _builds -= 1
                if not _builds:
                    sys.setswitchinterval(_interval)
