"""Object code of optimised modules, emitted in parallel."""

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

# Contexts that no thread uses now. They are never freed: a module that Python's garbage collector
# finds in a cycle may be freed after the context that it is in.
_FREE: list[llvm.ContextRef] = []


@contextmanager
def llvm_context() -> Iterator[llvm.ContextRef]:
    """Give a context that no other thread uses; modules in it are to be closed before this ends."""
    context = _FREE.pop() if _FREE else llvm.create_context()
    try:
        yield context
    except BaseException:
        # An error may have left a module, which is freed at any time, in any thread.
        context.detach()
        raise
    _FREE.append(context)


def emit_object(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """Return a module as an object file; other threads may emit modules of other contexts.

    Raises:
        RuntimeError: LLVM cannot; its message says why.
    """
    emit, dispose_text = _functions()
    reason = ctypes.c_char_p()
    buffer = emit(machine._ptr, module._ptr, 1, ctypes.byref(reason))
    if not buffer:
        text = (reason.value or b"").decode(errors="replace")
        dispose_text(reason)
        raise RuntimeError(text)
    buffer = ctypes.cast(buffer, ffi.LLVMMemoryBufferRef)
    try:
        start = ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _functions() -> tuple[Any, Any]:
    """Return LLVM's functions without the lock that llvmlite takes for each call.

    It has one for the process (https://github.com/numba/llvmlite/blob/main/llvmlite/binding/ffi.py),
    where LLVM asks only that threads do not share a context.
    """
    library = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle)
    emit = library.LLVMPY_TargetMachineEmitToMemory
    emit.restype = ctypes.c_void_p
    emit.argtypes = [
        ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
    ]  # fmt: skip
    dispose = library.LLVMPY_DisposeString
    dispose.restype, dispose.argtypes = None, [ctypes.c_char_p]
    return emit, dispose
