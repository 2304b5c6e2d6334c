"""Calls of MLIR's C library that the bindings do not make as a build needs them."""

import ctypes
import functools
import weakref
from pathlib import Path
from typing import Any

from relax_mlir.dialects.bindings import ir, passmanager, submodule

_OWNED: "weakref.WeakSet[ir.Context]" = weakref.WeakSet()


def own(context: ir.Context) -> None:
    """Say that one thread alone uses a context: passes need not keep the others from running."""
    _OWNED.add(context)


def run_passes(manager: passmanager.PassManager, op: ir.Operation) -> list[str]:
    """Run passes; return the errors of one that failed.

    The bindings keep the GIL meanwhile. In a context that is `own` other threads go on, such as
    those that compile kernels: what MLIR calls of Python takes the GIL itself.
    """
    library = _library(ctypes.CDLL)
    if library is None or op.context not in _OWNED:
        try:
            manager.run(op)
        except ir.MLIRError as error:
            return [_text(each) for each in error.error_diagnostics] or [str(error)]
        return []
    errors: list[str] = []

    def collect(diagnostic: ir.Diagnostic) -> bool:
        is_error = diagnostic.severity == ir.DiagnosticSeverity.ERROR
        if is_error:
            errors.append(_text(diagnostic))
        return is_error

    handler = op.context.attach_diagnostic_handler(collect)
    try:
        succeeded = library.mlirPassManagerRunOnOp(_pointer(manager), _pointer(op))
    finally:
        handler.detach()
    return [] if succeeded else errors or ["a pass failed"]


def translate(op: ir.Operation) -> str:
    """Return a module of the LLVM dialect as LLVM IR.

    MLIR crashes on operations that have no LLVM IR: the caller has looked for those.
    """
    library = _library(ctypes.CDLL if op.context in _OWNED else ctypes.PyDLL)
    if library is None:
        return submodule("dialects.llvm").translate_module_to_llvmir(op)
    # The binding copies the text and never frees the original, some 30 KB for a small kernel; a
    # process that compiles a thousand modules would keep them all.
    address = library.mlirTranslateModuleToLLVMIRToString(_pointer(op))
    try:
        return ctypes.string_at(address).decode()
    finally:
        library.LLVMDisposeMessage(address)


@functools.cache
def _library(kind: type[ctypes.CDLL]) -> Any:
    """Return the bindings' C library, None where they are built without it or with another name.

    Args:
        kind: PyDLL keeps the GIL in calls, CDLL does not.
    """
    folder = Path(str(submodule("_mlir_libs").__file__)).parent
    for path in sorted(folder.glob("*CAPI*")):
        try:
            library = kind(str(path))
            translate_to_string = library.mlirTranslateModuleToLLVMIRToString
            dispose = library.LLVMDisposeMessage
            run = library.mlirPassManagerRunOnOp
        except (OSError, AttributeError):
            continue
        translate_to_string.restype = ctypes.c_void_p
        translate_to_string.argtypes = [ctypes.c_void_p]
        dispose.restype = None
        dispose.argtypes = [ctypes.c_void_p]
        run.restype = ctypes.c_int8
        run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        return library
    return None


def _pointer(held: Any) -> int:
    """Return the address of MLIR's object that one of the bindings holds."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = held._CAPIPtr
    return pointer(capsule, name(capsule))


def _text(diagnostic: Any) -> str:
    return f"{diagnostic.location}: {diagnostic.message}"
