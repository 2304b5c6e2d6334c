"""Loading modules: executables, shared libraries, archives of objects."""

import ctypes
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ExecutableFormatError
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.files.exporting import ARCHIVED, IMAGE, IMAGE_SIZE
from relax_mlir.runtime.files.serialize import MAGIC, parse
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.native.ffi_errors import register_errors
from relax_mlir.runtime.native.loader import native_call


class LibraryModule(Module):
    """The functions that a shared library exports for the TVM FFI.

    Attributes:
        path: the library's file.
    """

    kind = "library"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Load the library.

        Raises:
            ExecutableFormatError: it cannot be loaded; says why.
        """
        super().__init__()
        self.path: Path = Path(path)
        try:
            self._library = self._load()
        except Exception as error:
            raise ExecutableFormatError(f"cannot load library '{path}': {error}") from error

    def _load(self) -> Any:
        from relax_mlir.runtime.native.ffi import tvm_ffi

        register_errors()
        file = str(self.path.resolve())
        return tvm_ffi.load_module(file)

    def find_function(self, name: str) -> Any:
        """Return an exported function, None when there is none."""
        if name not in self._functions:
            try:
                func = self._library.get_function(name)
            except AttributeError:
                return None
            self._functions[name] = native_call(name, func)
        return self._functions[name]


def load_module(path: str | os.PathLike[str]) -> Module:
    """Return the module in a file, whatever kind of file it is.

    An executable's file and what `Executable.export_library` writes give the Executable; another
    shared library gives the functions that it exports for the TVM FFI.

    Raises:
        ExecutableFormatError: damaged, for another machine, or none of these.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        start = file.read(20)
    if start.startswith(MAGIC):
        return Executable.load(path)
    if start.startswith(b"\x7fELF") and start[16:18] == b"\x01\x00":
        raise ExecutableFormatError(
            f"'{os.fspath(path)}' is an object file: it does not say which CPU it is for, and a "
            "linker must make a library of it first; export_library writes .so or .tar at once"
        )
    if start.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")):
        return _from_library(path)
    if tarfile.is_tarfile(path):
        return _from_archive(path)
    raise ExecutableFormatError(
        f"'{os.fspath(path)}' is no executable of relax_mlir, shared library or archive"
    )


def _from_library(path: str | os.PathLike[str]) -> Module:
    # First, as it finds what the library itself needs.
    library = LibraryModule(path)
    handle = ctypes.CDLL(str(Path(path).resolve()))
    try:
        image = ctypes.c_char.in_dll(handle, IMAGE)
        size = ctypes.c_uint64.in_dll(handle, IMAGE_SIZE).value
    except ValueError:
        return library
    memory: Any = (ctypes.c_char * size).from_address(ctypes.addressof(image))
    # The arrays are views of the library, which must stay.
    memory.library = (handle, library)
    return parse(Executable, np.frombuffer(memory, np.uint8))


def _from_archive(path: str | os.PathLike[str]) -> Executable:
    try:
        with tarfile.open(path, "r:") as archive:
            member = archive.extractfile(ARCHIVED)
            data = member.read() if member is not None else b""
    except (tarfile.TarError, KeyError) as error:
        raise ExecutableFormatError(
            f"'{os.fspath(path)}' is no archive that export_library wrote: {error}"
        ) from error
    return Executable.from_bytes(data)
