"""MLIR contexts with our dialects loaded: one per thread, made on first use, replaced when old.

A context keeps every attribute, type, location and constant that was ever made in it. A process
that compiles one module after the other would grow for ever, so a thread's context is given up
after a while: when nothing of it is alive but one module at most, such as the last one of a loop.
"""

import sys
import threading
import weakref
from contextlib import AbstractContextManager
from typing import Any

from relax_mlir.dialects.bindings import ir, uninterrupted

# Dialect.load writes a class attribute while MLIR may drop the GIL; two threads there crash the
# process, so loading is serialised (llvm/llvm-project#215781 is the sibling report).
_LOAD_LOCK = threading.Lock()
_LOCAL = threading.local()
_NAMESPACES = ("relax", "tir", "vm")

# When a context is old: so many times asked for, or so many bytes of constants in it.
MOST_USES = 128
MOST_BYTES = 64 << 20
_LOCKS: "weakref.WeakKeyDictionary[ir.Context, Any]" = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()
_CONSTANT_BYTES: "weakref.WeakKeyDictionary[ir.Context, int]" = weakref.WeakKeyDictionary()


def load_all(context: ir.Context) -> None:
    """Load the relax, tir and vm dialects into a context; a second call does nothing."""
    from relax_mlir.dialects import relax, tir, vm

    with _LOAD_LOCK, context, uninterrupted():
        for dialect in (relax.Relax, tir.Tir, vm.Vm):
            if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                dialect.load()


def make_context() -> ir.Context:
    """Return a new context with all our dialects; multithreading stays off.

    Python verifiers deadlock under MLIR's own threads (llvm/llvm-project#215781).
    """
    context = ir.Context()
    context.enable_multithreading(False)
    load_all(context)
    return context


def default_context() -> ir.Context:
    """Return the context that this thread has entered, else the thread's own, made on first use.

    MLIR objects of two contexts do not mix: MLIR crashes. Whoever holds a type, an operation or two
    modules of the thread's context keeps it in use; inside a pass it is that of the pass's module.
    """
    entered = _entered()
    if entered is not None:
        return entered
    context = getattr(_LOCAL, "context", None)
    if context is None or _is_old(context):
        context = _LOCAL.context = make_context()
        _LOCAL.uses = 0
    _LOCAL.uses += 1
    return context


def lock_of(context: ir.Context) -> AbstractContextManager[Any]:
    """Return the lock under which a context is used: passes and `relax.build` hold it.

    MLIR lets go of the GIL while passes run, and a context without threads of its own has no locks:
    two modules of one context are therefore worked on one after the other. Those of different
    contexts, such as modules made in different threads, are not held up. Who changes a module while
    another thread runs passes on one of the same context takes this lock too.
    """
    lock = _LOCKS.get(context)
    if lock is None:
        with _LOCKS_LOCK:
            lock = _LOCKS.setdefault(context, threading.RLock())
    return lock


def count_constant(context: ir.Context, size: int) -> None:
    """Note that a context now holds so many more bytes of constants, until it dies."""
    _CONSTANT_BYTES[context] = _CONSTANT_BYTES.get(context, 0) + size


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
    if _LOCAL.uses < MOST_USES and _CONSTANT_BYTES.get(context, 0) < MOST_BYTES:
        return False
    modules = context._get_live_module_count()
    # Every live object of the bindings holds a reference to its context, a module exactly one.
    others = _references(context) - modules - _OWN_REFERENCES
    return others <= 0 and modules - _definitions_in(context) <= 1


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


def _definitions_in(context: ir.Context) -> int:
    """Return how many of the live modules are our dialects' definitions, which load_all made."""
    from relax_mlir.dialects import relax, tir, vm

    made = [getattr(each, "_mlir_module", None) for each in (relax.Relax, tir.Tir, vm.Vm)]
    return sum(each is not None and each.context == context for each in made)
