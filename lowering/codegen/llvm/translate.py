"""MLIR's translation of the LLVM dialect to text, without the leak of its Python binding."""

import ctypes
import functools
from pathlib import Path
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule


def translate(op: ir.Operation) -> str:
    """Return a module of the LLVM dialect as LLVM IR.

    MLIR crashes on operations that have no LLVM IR: the caller has looked for those.
    """
    library = _library()
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
def _library() -> Any:
    """Return the bindings' C library, None where they are built without it or with another name."""
    folder = Path(str(submodule("_mlir_libs").__file__)).parent
    for path in sorted(folder.glob("*CAPI*")):
        try:
            # PyDLL keeps the GIL as the binding does: verifiers and handlers may be Python.
            library = ctypes.PyDLL(str(path))
            translate_to_string = library.mlirTranslateModuleToLLVMIRToString
            dispose = library.LLVMDisposeMessage
        except (OSError, AttributeError):
            continue
        translate_to_string.restype = ctypes.c_void_p
        translate_to_string.argtypes = [ctypes.c_void_p]
        dispose.restype = None
        dispose.argtypes = [ctypes.c_void_p]
        return library
    return None


def _pointer(op: ir.Operation) -> int:
    """Return the address of MLIR's operation, which is what `MlirOperation` holds."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = op._CAPIPtr
    return pointer(capsule, name(capsule))
