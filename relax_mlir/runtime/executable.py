"""The Executable: function table, constants, bytecode and native code, one file on disk."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ExecutableFormatError, FunctionNotFoundError, did_you_mean
from relax_mlir.runtime.bytecode.instructions import ArgKind, Instruction
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.module import Module
from relax_mlir.runtime.values.convert import BFLOAT16


@dataclass(frozen=True, slots=True)
class VMFunction:
    """One function of the bytecode.

    Attributes:
        name: name that callers use.
        start_instr: index of its first instruction.
        end_instr: index after its last one.
        num_args: how many registers, from 0, hold its arguments.
        register_file_size: how many registers it uses.
        param_names: one name per argument.
    """

    name: str
    start_instr: int
    end_instr: int
    num_args: int
    register_file_size: int
    param_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NativeObject:
    """Relocatable machine code with the functions it exports as `__tvm_ffi_<symbol>`.

    Attributes:
        name: for messages.
        data: bytes of the object file.
        symbols: names of the exported functions, without the `__tvm_ffi_` prefix.
        triple: target triple it was made for; empty when unknown.
        cpu: the CPU it was made for.
        features: LLVM feature string (`+avx2,-avx512f`); the host must have those with a plus.
        needs_omp: whether it calls the OpenMP runtime.
    """

    name: str
    data: bytes
    symbols: tuple[str, ...]
    triple: str = ""
    cpu: str = ""
    features: str = ""
    needs_omp: bool = False


class Executable(Module):
    """What the virtual machine runs.

    As a runtime module it gives its functions, run on the CPU; the modules it imports have those
    that its bytecode calls and that neither it nor a builtin is.

    Attributes:
        global_funcs: the functions of the bytecode.
        constants: arrays, tuples, strings, dtypes, numbers, None.
        func_names: names that call instructions refer to by index.
        instr_data: the words of all instructions, int64.
        instr_offset: where in `instr_data` each instruction starts, int64.
        native: machine code.
        metadata: anything JSON can hold; kept in the file.
    """

    kind = "executable"

    def __init__(
        self,
        global_funcs: Iterable[VMFunction] = (),
        constants: Iterable[Any] = (),
        func_names: Iterable[str] = (),
        instr_data: Iterable[int] = (),
        instr_offset: Iterable[int] = (),
        native: Iterable[NativeObject] = (),
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.global_funcs: list[VMFunction] = list(global_funcs)
        self.constants: Sequence[Any] = (
            constants if isinstance(constants, CheckedConstants) else list(constants)
        )
        self.func_names: list[str] = list(func_names)
        self.instr_data: np.ndarray = np.array(instr_data, dtype="int64")
        self.instr_offset: np.ndarray = np.array(instr_offset, dtype="int64")
        self.native: list[NativeObject] = list(native)
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._loaded: Any = None
        self._load_lock = threading.Lock()
        self._machine: Any = None

    def get_instruction(self, index: int) -> Instruction:
        """Return instruction `index` of the whole bytecode; IndexError, ValueError if bad."""
        count = len(self.instr_offset)
        if not 0 <= index < count:
            raise IndexError(f"instruction {index} of {count}")
        start = int(self.instr_offset[index])
        end = int(self.instr_offset[index + 1]) if index + 1 < count else len(self.instr_data)
        if not 0 <= start < end <= len(self.instr_data):
            raise ValueError(f"instruction {index} has no words")
        return Instruction.decode(self.instr_data[start:end].tolist())

    def instructions(self, func: VMFunction) -> list[Instruction]:
        """Return the decoded instructions of one function."""
        return [self.get_instruction(i) for i in range(func.start_instr, func.end_instr)]

    def function(self, name: str) -> VMFunction:
        """Return the entry of a function of the bytecode.

        Raises:
            FunctionNotFoundError: there is none of that name.
        """
        for func in self.global_funcs:
            if func.name == name:
                return func
        names = [f.name for f in self.global_funcs]
        raise FunctionNotFoundError(
            f"the executable has no function '{name}'{did_you_mean(name, names)}"
            f" (it has: {', '.join(names) or 'none'})"
        )

    def check(self) -> None:
        """Check that every index in the bytecode exists, so that running it cannot go astray.

        Raises:
            ValueError: says the function, the instruction and what is wrong.
        """
        from relax_mlir.runtime.bytecode.checking import check_executable

        check_executable(self)

    def stats(self) -> str:
        """Return a summary: constants, functions, packed functions."""
        from relax_mlir.runtime.files.text import stats

        return stats(self)

    def as_text(self) -> str:
        """Return the bytecode as text, in the design document's layout."""
        from relax_mlir.runtime.files.text import as_text

        return as_text(self)

    def as_python(self) -> str:
        """Return a Python program that builds this executable again as `ex`.

        Small constants are in the text. Arrays of more than 64 elements are read from a name
        `constants`, and machine code from a name `native`: run it with
        `exec(source, {"constants": ex.constants, "native": ex.native})`.
        """
        from relax_mlir.runtime.files.text import as_python

        return as_python(self)

    astext = as_text
    aspython = as_python

    def constant_views(self) -> Sequence[Any]:
        """Return the constants for who needs their addresses only.

        The bytes of a loaded executable's arrays are not compared with their checksums here:
        `verify` those that are read, before they are. Reading `constants` does it by itself.
        """
        constants = self.constants
        return constants.views if isinstance(constants, CheckedConstants) else constants

    def verify(self, constants: Iterable[int] | None = None) -> None:
        """Compare the constants of a loaded file, all or some, with their checksums.

        Each is compared once; the virtual machine does it for those that a function uses, before
        its first call. Everything else in the file has been checked when it was loaded.

        Raises:
            ExecutableFormatError: the file is damaged; names the constant.
        """
        if isinstance(self.constants, CheckedConstants):
            self.constants.verify(constants)

    def verify_function(self, func: VMFunction) -> None:
        """Compare the constants that a function's instructions name with their checksums.

        Raises:
            ExecutableFormatError: the file is damaged; names the constant.
        """
        code = self.instructions(func)
        args = {arg for instr in code for arg in instr.args}
        self.verify(sorted(arg.value for arg in args if arg.kind is ArgKind.CONSTANT))

    def to_bytes(self) -> bytes:
        """Return the file's bytes; ArgumentTypeError for a constant it cannot hold."""
        from relax_mlir.runtime.files.serialize import dump

        return b"".join(dump(self))

    @staticmethod
    def from_bytes(data: bytes, weights: str | os.PathLike[str] | None = None) -> "Executable":
        """Return the executable of a file's bytes, copied and checked as a whole.

        Raises:
            ExecutableFormatError: they are not one, or its arrays are in a file and `weights`
                does not say in which.
        """
        from relax_mlir.runtime.files.access import aligned_copy
        from relax_mlir.runtime.files.safetensors import load_file
        from relax_mlir.runtime.files.serialize import parse

        loader = None if weights is None else lambda _: load_file(weights)
        executable = parse(aligned_copy(data), loader)
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
        from relax_mlir.atomic_file import write_file
        from relax_mlir.runtime.files.safetensors import save_file
        from relax_mlir.runtime.files.serialize import dump

        if weights is None:
            write_file(path, dump(self))
            return
        folder = Path(path).resolve().parent
        where = Path(os.path.relpath(Path(weights).resolve(), folder)).as_posix()
        tensors: dict[str, np.ndarray] = {}
        parts = dump(self, tensors, where)
        save_file(tensors, weights, {"format": "relax_mlir"})
        write_file(path, parts)

    @staticmethod
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
        from relax_mlir.runtime.files.access import map_file, read_aligned
        from relax_mlir.runtime.files.safetensors import load_file
        from relax_mlir.runtime.files.serialize import parse

        read = map_file if mmap else read_aligned

        def load_weights(name: str) -> dict[str, np.ndarray]:
            file = Path(path).parent / name if weights is None else Path(weights)
            if not file.is_file():
                raise ExecutableFormatError(
                    f"'{os.fspath(path)}' has its weights in '{file}', which is not there: "
                    "say where with weights="
                )
            return load_file(file, read)

        try:
            executable = parse(read(path), load_weights)
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
        from relax_mlir.runtime.files.exporting import export_library

        export_library(self, path, options)

    def function_names(self) -> tuple[str, ...]:
        """Return the names of the public functions, of the bytecode and then native."""
        private = self.metadata.get("private", ())
        return tuple([name for name in self._all_functions() if name not in private])

    @property
    def entry_name(self) -> str:
        """The function that calling the executable calls: its only one, else `main`."""
        names = self.function_names()
        return names[0] if len(names) == 1 else "main"

    def _all_functions(self) -> list[str]:
        native = [s.removeprefix("__tvm_ffi_") for obj in self.native for s in obj.symbols]
        return list(dict.fromkeys([*[f.name for f in self.global_funcs], *native]))

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return a function, public or not, run by a virtual machine on the CPU, or None."""
        if name not in self._all_functions():
            from relax_mlir.runtime.graph.executor import factory_function

            return factory_function(self, name)
        if self._machine is None:
            from relax_mlir.runtime.vm.virtual_machine import VirtualMachine

            self._machine = VirtualMachine(self)
        return self._machine[name]

    def load_native(self) -> dict[str, Any]:
        """Return the native functions by name, linked into the process once per executable.

        Raises:
            ExecutableFormatError: the code is for another machine or misses a symbol.
        """
        with self._load_lock:
            if self._loaded is None:
                if self.native:
                    from relax_mlir.runtime.native.loader import load_objects, taking_bfloat16

                    self._loaded = load_objects(self.native)
                    # Checks and allocations name the dtypes that the program's tensors have.
                    if any(type(c) is str and c == BFLOAT16 for c in self.constant_views()):
                        self._loaded = {n: taking_bfloat16(f) for n, f in self._loaded.items()}
                else:
                    self._loaded = {}
            return self._loaded

    def __repr__(self) -> str:
        names = ", ".join(self.function_names())
        return f"<Executable [{names}], {len(self.instr_offset)} instructions>"


def _restored(data: bytes, imports: Iterable[Module]) -> Executable:
    executable = Executable.from_bytes(data)
    for module in imports:
        executable.import_module(module)
    return executable
