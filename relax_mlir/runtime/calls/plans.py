"""What a straight function of the bytecode comes to for arguments of given shapes.

Which tensors it makes and which native functions it calls on what is then known, and code that
knows no Python can do it (`plan_code.py`).
"""

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.builtins import BUILTINS, PREFIX, SMALL_TENSOR
from relax_mlir.runtime.bytecode.instructions import Arg, ArgKind, Instruction, Opcode
from relax_mlir.runtime.calls.direct import is_plain
from relax_mlir.runtime.calls.direct_code import MOST_DIMS
from relax_mlir.runtime.calls.plan_code import HEAD_WORDS
from relax_mlir.runtime.executable import Executable, VMFunction
from relax_mlir.runtime.native.loader import ADDRESS
from relax_mlir.runtime.values.convert import DTYPES

_SCALARS = (int, float, bool)
_GET_GLOBAL = b"TVMFFIFunctionGetGlobal"
# Builtins that look at shapes and dtypes of tensors only, and change nothing but a shape heap.
_KNOWN = frozenset(
    PREFIX + name
    for name in (
        "alloc_shape_heap", "assert_shape", "bind_symbol", "check_bounds", "check_sizes",
        "check_tensor", "load_shape", "load_value", "storage_size", "store_shape",
    )
)  # fmt: skip


class Plan:
    """A plan as the code reads it; keeps what its words are addresses of.

    Attributes:
        address: where its words are.
    """

    def __init__(self, words: Sequence[int], kept: Sequence[Any]) -> None:
        self._words = (ctypes.c_int64 * len(words))(*words)
        self._kept = tuple(kept)
        self.address: int = ctypes.addressof(self._words)


class NoPlan(Exception):
    """A function that can have no plan."""


class NoPlanNow(NoPlan):
    """Arguments for which a function can have none; for others it may."""


@dataclass(eq=False)
class _Storage:
    """Memory that a tensor is to be alone in."""

    size: int
    used: bool = False


@dataclass(eq=False)
class _Tensor:
    """A tensor that the function makes."""

    shape: tuple[int, ...]
    dtype: np.dtype


class _Replay:
    """Goes through a function's instructions; `registers` begin with the arguments."""

    def __init__(
        self, executable: Executable, native: Mapping[str, Any], constants: Sequence[Any],
        registers: dict[int, Any],
    ) -> None:  # fmt: skip
        self._executable, self._native, self._constants = executable, native, constants
        self._registers = registers
        self._own = {func.name for func in executable.global_funcs}
        self._heaps: list[np.ndarray] = []
        self.tensors: list[_Tensor] = []
        self.calls: list[tuple[int, list[Any]]] = []

    def value(self, arg: Arg) -> Any:
        """Return what an operand is; NoPlan for one that is nothing here."""
        if arg.kind is ArgKind.IMMEDIATE:
            return arg.value
        if arg.kind is ArgKind.CONSTANT:
            return self._constants[arg.value]
        if arg.is_plain_register and arg.value in self._registers:
            return self._registers[arg.value]
        raise NoPlan

    def step(self, instr: Instruction) -> None:
        """Do what a call does to shapes, or note it where it is a kernel."""
        name = self._executable.func_names[instr.func_idx]
        if name in self._own:
            raise NoPlan
        if name == PREFIX + "kill_object":
            return
        args = [self.value(arg) for arg in instr.args]
        result = self._kernel(name, args) if name in self._native else self._builtin(name, args)
        if instr.dst.is_plain_register:
            self._registers[instr.dst.value] = result

    def _kernel(self, name: str, args: list[Any]) -> None:
        if len(args) == 1 and any(args[0] is heap for heap in self._heaps):
            self._native[name](args[0])
            return
        address = getattr(self._native[name], ADDRESS, None)
        if address is None:
            raise NoPlan
        self.calls.append((address, args))

    def _builtin(self, name: str, args: list[Any]) -> Any:
        if name == PREFIX + "alloc_tensor":
            return self._tensor(*args)
        if name == PREFIX + "make_tuple":
            return _Results(args)
        if any(type(arg) in (_Storage, _Tensor, _Results) for arg in args):
            raise NoPlan
        if name == PREFIX + "alloc_storage":
            return _Storage(args[0])
        if name not in _KNOWN:
            raise NoPlan
        result = BUILTINS[name](*args)
        if name == PREFIX + "alloc_shape_heap":
            self._heaps.append(result)
        return result

    def _tensor(self, storage: Any, offset: Any, shape: Any, dtype: Any) -> _Tensor:
        alone = type(storage) is _Storage and not storage.used and offset == 0
        found = DTYPES.get(dtype) if type(dtype) is str else None
        if not alone or found is None or type(shape) is not tuple:
            raise NoPlan
        storage.used = True
        if len(shape) > MOST_DIMS:
            raise NoPlan
        if not 0 < math.prod(shape) * found.itemsize == storage.size <= SMALL_TENSOR:
            raise NoPlanNow
        self.tensors.append(_Tensor(shape, found))
        return self.tensors[-1]


class _Results(list):
    """The elements of a tuple."""


def calls_python(executable: Executable) -> bool:
    """Whether native code may call functions that are registered, which may do anything."""
    return any(_GET_GLOBAL in bytes(obj.data) for obj in executable.native)


def make_plan(
    executable: Executable,
    func: VMFunction,
    native: Mapping[str, Any],
    constants: Sequence[Any],
    args: Sequence[Any],
) -> Plan:
    """Return the plan of a function for arguments of these shapes and dtypes.

    Args:
        executable: the program.
        func: one of its functions, which these arguments were good for.
        native: native functions by name.
        constants: the program's, as values.
        args: the arguments.

    Raises:
        NoPlan: it does more than call kernels on its arguments and on tensors of its own.
        NoPlanNow: for these arguments; its tensors are large, or these are no tensors.
    """
    if not all(map(is_plain, args)):
        raise NoPlanNow
    # One array may be several arguments; of views there is one for each.
    params = [arg.view() for arg in args]
    replay = _Replay(executable, native, constants, dict(enumerate(params)))
    result = None
    for instr in executable.instructions(func):
        if instr.op is Opcode.RET:
            result = replay.value(instr.reg)
            break
        if instr.op is not Opcode.CALL:
            raise NoPlan
        replay.step(instr)
    single = type(result) is _Tensor
    results = [result] if single else result if type(result) is _Results else []
    if not results or any(type(each) is not _Tensor for each in results):
        raise NoPlan
    numbers = {id(value): number for number, value in enumerate(params)}
    operands = [value for _, operands in replay.calls for value in operands]
    kept = [v for v in operands if type(v) is not _Tensor and id(v) not in numbers]
    if any(type(v) not in _SCALARS and not is_plain(v) for v in kept):
        raise NoPlan
    for value in [*kept, *replay.tensors]:
        numbers.setdefault(id(value), len(numbers))
    return _written(args, replay, kept, numbers, results, single)


def _written(
    args: Sequence[np.ndarray],
    replay: _Replay,
    kept: Sequence[Any],
    numbers: Mapping[int, int],
    results: Sequence[_Tensor],
    single: bool,
) -> Plan:
    constants = list({id(value): value for value in kept}.values())
    words = [len(args), len(constants), len(replay.tensors), len(replay.calls)]
    words.append(-1 if single else len(results))
    words.append(max((len(operands) for _, operands in replay.calls), default=0))
    assert len(words) == HEAD_WORDS
    for arg in args:
        words += [id(arg.dtype), arg.ndim, *arg.shape]
    words += map(id, constants)
    for tensor in replay.tensors:
        words += [id(tensor.shape), id(tensor.dtype)]
    for address, operands in replay.calls:
        words += [address, len(operands), *[numbers[id(value)] for value in operands]]
    words += [numbers[id(value)] for value in results]
    return Plan(words, [constants, replay.tensors, [arg.dtype for arg in args]])
