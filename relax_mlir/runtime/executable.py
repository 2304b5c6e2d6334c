"""The Executable: function table, constants, bytecode and native code, one file on disk."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ExecutableFormatError
from relax_mlir.extension_points import extension
from relax_mlir.interpreter import without_collector
from relax_mlir.runtime.bytecode.checking import check_executable
from relax_mlir.runtime.files.access import aligned_copy, map_file, read_aligned
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.files.serialize import dump, parse
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.native.loader import load_objects, taking_bfloat16
from relax_mlir.runtime.program import Program
from relax_mlir.runtime.values.convert import BFLOAT16

_LOAD_LOCK = threading.Lock()
# What TVM's executables give as functions too.
_TEXTS = ("as_python", "as_text", "stats")


class Executable(Program):
    """What the virtual machine runs.

    As a runtime module it gives its functions, run on the CPU; the modules it imports have those
    that its bytecode calls and that neither it nor a builtin is.
    """

    kind = "executable"
    _loaded: Any = None
    _machine: Any = None

    def check(self) -> None:
        """Check that every index in the bytecode exists, so that running it cannot go astray.

        Raises:
            ValueError: says the function, the instruction and what is wrong.
        """
        check_executable(self)

    def stats(self) -> str:
        """Return a summary: constants, functions, packed functions."""
        from relax_mlir.runtime.files import text

        return text.stats(self)

    def as_text(self) -> str:
        """Return the bytecode as text, in the design document's layout."""
        from relax_mlir.runtime.files import text

        return text.as_text(self)

    def as_python(self) -> str:
        """Return a Python program that builds this executable again as `ex`.

        Small constants are in the text. Arrays of more than 64 elements are read from a name
        `constants`, and machine code from a name `native`: run it with
        `exec(source, {"constants": ex.constants, "native": ex.native})`.
        """
        from relax_mlir.runtime.files import text

        return text.as_python(self)

    def jit(self, *_: Any, **__: Any) -> "Executable":
        """Return this executable: its native code is linked into the process on first use.

        TVM compiles what is not native code here, by options that have no meaning here.
        """
        return self

    astext = as_text
    aspython = as_python

    def to_bytes(self) -> bytes:
        """Return the file's bytes; ArgumentTypeError for a constant it cannot hold."""
        return b"".join(dump(self))

    @staticmethod
    def from_bytes(data: bytes, weights: str | os.PathLike[str] | None = None) -> "Executable":
        """Return the executable of a file's bytes, copied and checked as a whole.

        Raises:
            ExecutableFormatError: they are not one, or its arrays are in a file and `weights`
                does not say in which.
        """
        from relax_mlir.runtime.files.safetensors import load_file

        loader = None if weights is None else lambda _: load_file(weights)
        executable = parse(Executable, aligned_copy(data), loader)
        executable.verify()
        return executable

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickles and copies hold: the file's bytes, and the modules it imports.

        Raises:
            ArgumentTypeError: a constant is of a kind that files cannot hold.
        """
        return _restored, (self.to_bytes(), self.imported_modules)

    def save(
        self, path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None
    ) -> None:
        """Write one file; the old one stays until the new one is complete.

        Args:
            path: the executable's file.
            weights: a safetensors file to write the arrays to, as `c<index>`, instead; the
                executable finds it again from its own folder.

        Raises:
            ArgumentTypeError: a constant is of a kind that files cannot hold.
            ExecutableFormatError: this executable was loaded from a file that is damaged.
            OSError: the file cannot be written.
        """
        # Programs that are loaded only need none of it.
        from relax_mlir.atomic_file import write_file

        if weights is None:
            write_file(path, dump(self))
            return
        from relax_mlir.runtime.files.safetensors import save_file

        folder = Path(path).resolve().parent
        where = Path(os.path.relpath(Path(weights).resolve(), folder)).as_posix()
        tensors: dict[str, np.ndarray] = {}
        parts = dump(self, tensors, where)
        save_file(tensors, weights, {"format": "relax_mlir"})
        write_file(path, parts)

    @staticmethod
    @without_collector()
    def load(
        path: str | os.PathLike[str],
        weights: str | os.PathLike[str] | None = None,
        verify: bool | None = None,
        mmap: bool = True,
    ) -> "Executable":
        """Read a file that `save` wrote; its arrays are views of the mapped file.

        Everything but the arrays is checked at once; the arrays when they are first used. A file
        in use must be replaced, as `save` does, not written over.

        Args:
            path: the executable's file.
            weights: where its weights file is now; None is where it was when it was saved.
            verify: True checks the arrays now, False never, None at their first use.
            mmap: whether to map the files (or else read them into memory now).

        Raises:
            ExecutableFormatError: truncated, corrupted, of another version, or without its weights.
            OSError: the file cannot be read.
        """
        read = map_file if mmap else read_aligned

        def load_weights(name: str) -> dict[str, np.ndarray]:
            file = Path(path).parent / name if weights is None else Path(weights)
            if not file.is_file():
                raise ExecutableFormatError(
                    f"'{os.fspath(path)}' has its weights in '{file}', which is not there: "
                    "say where with weights="
                )
            # Programs that hold their weights need none of it.
            from relax_mlir.runtime.files.safetensors import load_file

            return load_file(file, read)

        try:
            executable = parse(Executable, read(path), load_weights)
        except ExecutableFormatError as error:
            name = os.fspath(path)
            if name in str(error):
                raise
            raise ExecutableFormatError(f"{error} (file '{name}')") from error
        if verify:
            executable.verify()
        elif verify is not None and isinstance(executable.constants, CheckedConstants):
            executable.constants.trust()
        return executable

    def export_library(self, path: str | os.PathLike[str], options: Sequence[str] = ()) -> None:
        """Write a library for other programs, which need only the TVM FFI to load it.

        A shared library (`.so`) exports the native functions, so that `tvm_ffi.load_module` and
        C++'s `tvm::ffi::Module::LoadFromFile` find them, and holds the whole executable, which
        `runtime.load_module` gives back. It is linked by the C compiler in CC, or `cc`. Without
        one, `.tar` is an archive of the object files and the executable, `.o` the machine code.

        Args:
            path: the file; its suffix says what it is to be.
            options: more arguments for the C compiler.

        Raises:
            CompileError: no compiler, it failed (with its message), or another suffix.
            ArgumentTypeError: a constant is of a kind that files cannot hold.
            OSError: the file cannot be written.
        """
        # Only who exports needs archives and a C compiler.
        from relax_mlir.runtime.files.exporting import export_library

        export_library(self, path, options)

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return a function, public or not, run by a virtual machine on the CPU, or None."""
        if name not in self.all_functions():
            if name in _TEXTS:
                return getattr(self, name)
            return extension("runtime.graph_function")(self, name)
        if self._machine is None:
            self._machine = extension("runtime.VirtualMachine")(self)
        return self._machine[name]

    def load_native(self) -> dict[str, Any]:
        """Return the native functions by name, linked into the process once per executable.

        Raises:
            ExecutableFormatError: the code is for another machine or misses a symbol.
        """
        with _LOAD_LOCK:
            if self._loaded is None:
                if self.native:
                    self._loaded = load_objects(self.native)
                    # Checks, allocations and constants have the dtypes of the program's tensors.
                    names = (getattr(c, "dtype", c) for c in self.constant_views())
                    if any(str(name) == BFLOAT16 for name in names):
                        self._loaded = {n: taking_bfloat16(f) for n, f in self._loaded.items()}
                else:
                    self._loaded = {}
            return self._loaded


def _restored(data: bytes, imports: Iterable[Module]) -> Executable:
    executable = Executable.from_bytes(data)
    for module in imports:
        executable.import_module(module)
    return executable
