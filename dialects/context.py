"""MLIR contexts with our dialects loaded: one per thread, created on first use, replaced when full.

A context keeps every attribute, type, location and constant that was ever made in it. A process
that compiles one module after the other would grow for ever, so after a while a thread makes its
new modules in a new context. The old one lives on in the modules that are still there and ends with
the last of them; what puts two modules together moves one of them, see `IRModule.moved_to`.
"""

import sys
import threading
from typing import Any

from relax_mlir.dialects import relax, tir, vm
from relax_mlir.dialects.bindings import ext, ir, submodule, uninterrupted
from relax_mlir.dialects.context_lock import LOAD_LOCK
from relax_mlir.dialects.context_memory import is_full
from relax_mlir.dialects.definitions import load_definition

_LOCAL = threading.local()
_NAMESPACES = ("relax", "tir", "vm")
# Operations that users declared, which contexts made before that do not have.
_LATE: list[type[Any]] = []

# When a context is old: it was requested so many times, or is full of constants.
MAX_USES = 64


def load_all(context: ir.Context) -> None:
    """Load the relax, tir and vm dialects into a context; a second call does nothing."""
    with LOAD_LOCK, context, uninterrupted():
        for dialect in (relax.Relax, tir.Tir, vm.Vm):
            if not context.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                load_definition(dialect)


def add_operation(operation: type[Any]) -> None:
    """Make an operation that was declared late known where the dialects are loaded already.

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
    with LOAD_LOCK, context, ir.Location.unknown(), uninterrupted():
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
    if _LOCAL.uses < MAX_USES and not is_full(context):
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
