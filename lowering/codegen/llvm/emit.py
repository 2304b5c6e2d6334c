"""Object code of optimised modules, emitted in parallel."""

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from relax_mlir.lowering.target.target import Target

# Contexts that no thread uses now. They are never freed: a module that Python's garbage collector
# finds in a cycle may be freed after the context that it is in.
_FREE: list[llvm.ContextRef] = []
# Machines that no thread uses now, by their targets' settings. A new one describes the CPU again
# for each function that it emits, a sixth of the time that LLVM takes for a small kernel.
_FREE_MACHINES: dict[tuple[str, str, str, int], list[llvm.TargetMachine]] = {}


@contextmanager
def llvm_context() -> Iterator[llvm.ContextRef]:
    """Give a context that no other thread uses; modules in it are to be closed before this ends."""
    try:
        context = _FREE.pop()
    except IndexError:
        context = llvm.create_context()
    try:
        yield context
    except BaseException:
        # An error may have left a module, which is freed at any time, in any thread.
        context.detach()
        raise
    _FREE.append(context)


@contextmanager
def llvm_machine(target: Target) -> Iterator[llvm.TargetMachine]:
    """Give a machine for a target that no other thread uses; it may have emitted other modules."""
    free = _FREE_MACHINES.setdefault(
        (target.triple, target.cpu, target.features, target.opt_level), []
    )
    try:
        machine = free.pop()
    except IndexError:
        machine = target.machine()
    yield machine
    free.append(machine)


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
