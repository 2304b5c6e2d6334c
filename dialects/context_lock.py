"""Locks of MLIR contexts: one thread at a time, with deadlock detection."""

import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import RelaxMLIRError

# Dialect.load writes a class attribute while MLIR may drop the GIL; two threads there crash the
# process, so loading is serialised (llvm/llvm-project#215781 is the sibling report).
LOAD_LOCK = threading.Lock()
# How often a thread that waits for a context looks whether it waits for itself; it believes it when
# it has seen it so many times in a row.
_POLL_SECONDS = 0.1
_SIGHTINGS = 3
_LOCKS: "weakref.WeakKeyDictionary[ir.Context, Any]" = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()


class _ContextLock:
    """A context's reentrant lock; waiting for it raises when the wait could never end."""

    # Which lock a thread waits for; under _LOCKS_LOCK.
    waits: ClassVar["dict[int, _ContextLock]"] = {}

    def __init__(self) -> None:
        # Any: `_is_owned`, which threading itself uses, is not in the type's stub.
        self._lock: Any = threading.RLock()
        # Who took it last: when somebody waits for it, the thread that has it.
        self._owner = 0

    def __enter__(self) -> None:
        owned = self._lock._is_owned()
        try:
            if not self._lock.acquire(blocking=False):
                self._wait()
            self._owner = threading.get_ident()
        except BaseException:
            # Ctrl-C may come when it is taken already but the caller's `with` does not know yet.
            if not owned and self._lock._is_owned():
                self._lock.release()
            raise

    @property
    def __exit__(self) -> Any:
        # The lock's own, in C: Ctrl-C cannot come between its call and the release.
        return self._lock.__exit__

    def _wait(self) -> None:
        me = threading.get_ident()
        sightings = 0
        with _LOCKS_LOCK:
            self.waits[me] = self
        try:
            while not self._lock.acquire(timeout=_POLL_SECONDS):
                with _LOCKS_LOCK:
                    sightings = sightings + 1 if self._waits_for(me) else 0
                    if sightings == _SIGHTINGS:
                        # Gone from the list at once: one thread of the cycle is to fail, not all.
                        del self.waits[me]
                        raise RelaxMLIRError(
                            "deadlock: this thread uses a module of one MLIR context and needs one "
                            "of another, whose thread waits for this one; inside a pass, work only "
                            "on modules of its own context (IRModule.parse of the other's text)",
                        )
        finally:
            with _LOCKS_LOCK:
                self.waits.pop(me, None)

    def _waits_for(self, thread: int) -> bool:
        """Whether the owner of this lock waits, over however many others, for a thread's."""
        lock: _ContextLock | None = self
        seen: list[_ContextLock] = []
        while lock is not None and lock not in seen:
            if lock._owner == thread:
                return True
            seen.append(lock)
            lock = self.waits.get(lock._owner)
        return False


def lock_of(context: ir.Context) -> AbstractContextManager[Any]:
    """Return the lock under which a context is used: passes and `relax.build` hold it.

    MLIR lets go of the GIL while passes run, and a context without threads of its own has no locks:
    two modules of one context are therefore worked on one after the other. Those of different
    contexts, such as modules made in different threads, are not held up. Who changes a module while
    another thread runs passes on one of the same context takes this lock too.

    Who has one and takes another's may wait for a thread that waits for the first: entering raises
    RelaxMLIRError in one of them then, which a pass that does so makes a PassError of.
    """
    lock = _LOCKS.get(context)
    if lock is None:
        with _LOCKS_LOCK:
            lock = _LOCKS.setdefault(context, _ContextLock())
    return lock
