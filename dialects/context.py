"""MLIR contexts with our dialects loaded: one per thread, made on first use, replaced when old.

A context keeps every attribute, type, location and constant that was ever made in it. A process
that compiles one module after the other would grow for ever, so after a while a thread makes its
new modules in a new context. The old one lives on in the modules that are still there and ends with
the last of them; what puts two modules together moves one of them, see `IRModule.moved_to`.
"""

import sys
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from relax_mlir.dialects.bindings import ext, ir, submodule, uninterrupted
from relax_mlir.errors import RelaxMLIRError

# Dialect.load writes a class attribute while MLIR may drop the GIL; two threads there crash the
# process, so loading is serialised (llvm/llvm-project#215781 is the sibling report).
_LOAD_LOCK = threading.Lock()
_LOCAL = threading.local()
_NAMESPACES = ("relax", "tir", "vm")
# Operations that users declared, which contexts made before that do not have.
_LATE: list[type[Any]] = []

# When a context is old: so many times asked for, or so many bytes of constants in it.
MOST_USES = 64
MOST_BYTES = 64 << 20
# How often a thread that waits for a context looks whether it waits for itself; it believes it when
# it has seen it so many times in a row.
_POLL_SECONDS = 0.1
_SIGHTINGS = 3
_LOCKS: "weakref.WeakKeyDictionary[ir.Context, Any]" = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()
_CONSTANT_BYTES: "weakref.WeakKeyDictionary[ir.Context, int]" = weakref.WeakKeyDictionary()


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
        """Whether whoever has this lock waits, over however many others, for a thread's."""
        lock: _ContextLock | None = self
        seen: list[_ContextLock] = []
        while lock is not None and lock not in seen:
            if lock._owner == thread:
                return True
            seen.append(lock)
            lock = self.waits.get(lock._owner)
        return False


def load_all(context: ir.Context) -> None:
    """Load the relax, tir and vm dialects into a context; a second call does nothing."""
    from relax_mlir.dialects import relax, tir, vm

    with _LOAD_LOCK, context, uninterrupted():
        for dialect in (relax.Relax, tir.Tir, vm.Vm):
            if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                dialect.load()
                release_definition(dialect)


def release_definition(dialect: type[Any]) -> None:
    """Let go of the module that a dialect was loaded from: it would keep its context for ever."""
    dialect._mlir_module = None


def load_schedule(context: ir.Context) -> None:
    """Load the schedule dialect into a context, which few need; a second call does nothing."""
    from relax_mlir.dialects import schedule

    with _LOAD_LOCK, context, uninterrupted():
        schedule.load()


def add_operation(operation: type[Any]) -> None:
    """Make an operation of ours that was declared late known where the dialects are loaded already.

    Contexts of other threads learn it when those ask for theirs.
    """
    _LATE.append(operation)
    default_context()


def _load_late(context: ir.Context) -> None:
    """Add the operations to a context's dialects that were declared after it was made."""
    missing = [op for op in _LATE if not context.is_registered_operation(op.OPERATION_NAME)]
    if not missing:
        return
    irdl = submodule("dialects.irdl")
    with _LOAD_LOCK, context, ir.Location.unknown(), uninterrupted():
        for operation in missing:
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                dialect = irdl.dialect(operation.OPERATION_NAME.partition(".")[0])
                with ir.InsertionPoint(dialect.body):
                    operation._emit_operation()
            irdl.load_dialects(module)
            operation._attach_traits()
            register = ext._cext.register_operation(operation._dialect_obj, replace=True)
            register(operation)


def make_context() -> ir.Context:
    """Return a new context with all our dialects; multithreading stays off.

    Python verifiers deadlock under MLIR's own threads (llvm/llvm-project#215781).
    """
    context = ir.Context()
    context.enable_multithreading(False)
    load_all(context)
    return context


def new_context() -> ir.Context:
    """Return a new context as `default_context` makes one, with what users declared."""
    context = make_context()
    _load_late(context)
    return context


def default_context() -> ir.Context:
    """Return the context that this thread has entered, else the thread's own, made on first use.

    MLIR objects of two contexts do not mix: MLIR crashes. Whoever holds a type, an attribute or an
    operation of the thread's context keeps it in use, modules do not; inside a pass it is that of
    the pass's module.
    """
    entered = _entered()
    if entered is not None:
        if _LATE:
            _load_late(entered)
        return entered
    context = getattr(_LOCAL, "context", None)
    if context is None or _is_old(context):
        context = _LOCAL.context = make_context()
        _LOCAL.uses = 0
    if _LATE:
        _load_late(context)
    _LOCAL.uses += 1
    return context


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


def count_constant(context: ir.Context, size: int) -> None:
    """Note that a context now holds so many more bytes of constants, until it dies."""
    _CONSTANT_BYTES[context] = _CONSTANT_BYTES.get(context, 0) + size


def is_full(context: ir.Context) -> bool:
    """Whether a context holds as many bytes of constants as one should."""
    return _CONSTANT_BYTES.get(context, 0) >= MOST_BYTES


def _entered() -> ir.Context | None:
    """Return the innermost `with context:` of this thread if our dialects are loaded there."""
    try:
        context = ir.Context.current
    except ValueError:
        return None
    if context is None or not all(map(context.is_dialect_loaded, _NAMESPACES)):
        return None
    return context


def _is_old(context: ir.Context) -> bool:
    if _LOCAL.uses < MOST_USES and not is_full(context):
        return False
    # Every live object of the bindings holds a reference to its context, a module exactly one.
    return _references(context) - context._get_live_module_count() <= _OWN_REFERENCES


def _references(thing: object) -> int:
    return sys.getrefcount(thing)


def _own_references() -> int:
    """Return how many references `_is_old` sees to an object that only its thread holds.

    How many of them calls add is CPython's business and differs from version to version, so they
    are counted on an object that is held and handed on as a context is.
    """

    def is_old(context: object) -> int:
        return _references(context)

    holder = threading.local()
    holder.context = object()
    context = getattr(holder, "context", None)
    return is_old(context)


_OWN_REFERENCES = _own_references()
