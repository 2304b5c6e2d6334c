"""Programs of the virtual machine: functions, constants, kernels."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relax_mlir.errors import FunctionNotFoundError, did_you_mean
from relax_mlir.runtime.bytecode.instructions import ArgKind, Instruction
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.module import Module


class VMFunction(NamedTuple):
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
        is_parallel: whether it calls the thread pool.
    """

    name: str
    data: bytes
    symbols: tuple[str, ...]
    triple: str = ""
    cpu: str = ""
    features: str = ""
    is_parallel: bool = False


# Each is decoded when it is checked, translated and described.
_decoded = functools.lru_cache(1 << 14)(Instruction.decode)


class Program(Module):
    """Functions, constants, bytecode and machine code: what an `Executable` runs and files hold.

    Attributes:
        global_funcs: the functions of the bytecode.
        constants: arrays, tuples, strings, dtypes, numbers, None.
        func_names: names that call instructions refer to by index.
        instr_data: the words of all instructions, int64.
        instr_offset: where in `instr_data` each instruction starts, int64.
        native: machine code.
        metadata: anything JSON can hold; kept in the file.
    """

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

    def get_instruction(self, index: int) -> Instruction:
        """Return instruction `index` of the whole bytecode; IndexError, ValueError if bad."""
        count = len(self.instr_offset)
        if not 0 <= index < count:
            raise IndexError(f"instruction {index} of {count}")
        start = int(self.instr_offset[index])
        end = int(self.instr_offset[index + 1]) if index + 1 < count else len(self.instr_data)
        if not 0 <= start < end <= len(self.instr_data):
            raise ValueError(f"instruction {index} has no words")
        return _decoded(tuple(self.instr_data[start:end].tolist()))

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

    def function_names(self) -> tuple[str, ...]:
        """Return the names of the public functions, of the bytecode and then native."""
        private = self.metadata.get("private", ())
        return tuple([name for name in self.all_functions() if name not in private])

    @property
    def entry_name(self) -> str:
        """The function that calling the executable calls: its only one, else `main`."""
        names = self.function_names()
        return names[0] if len(names) == 1 else "main"

    def all_functions(self) -> list[str]:
        """Return the names of all functions, public and private."""
        native = [s.removeprefix("__tvm_ffi_") for obj in self.native for s in obj.symbols]
        return list(dict.fromkeys([*[f.name for f in self.global_funcs], *native]))

    def __repr__(self) -> str:
        names = ", ".join(self.function_names())
        return f"<{type(self).__name__} [{names}], {len(self.instr_offset)} instructions>"
