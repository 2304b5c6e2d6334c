"""MLIR contexts with our dialects loaded: one per thread, made on first use."""

import threading

from relax_mlir.dialects.bindings import ir

# Dialect.load writes a class attribute while MLIR may drop the GIL; two threads there crash the
# process, so loading is serialised (llvm/llvm-project#215781 is the sibling report).
_LOAD_LOCK = threading.Lock()
_LOCAL = threading.local()


def load_all(context: ir.Context) -> None:
    """Load the relax, tir and vm dialects into a context; a second call does nothing."""
    from relax_mlir.dialects import relax, tir, vm

    with _LOAD_LOCK, context:
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
    """Return this thread's context, made on first use. MLIR objects of two contexts do not mix."""
    context = getattr(_LOCAL, "context", None)
    if context is None:
        context = _LOCAL.context = make_context()
    return context
