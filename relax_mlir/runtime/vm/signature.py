"""The signature of a compiled function, from its argument checks."""

from typing import NamedTuple

from relax_mlir.runtime.bytecode.instructions import Arg, ArgKind, Opcode
from relax_mlir.runtime.program import Program, VMFunction

_CHECK = "vm.builtin.check_tensor"
_INTEGER_CHECKS = {"vm.builtin.check_int": "int", "vm.builtin.check_shape_value": "shape"}


class Parameter(NamedTuple):
    """One parameter.

    Attributes:
        name: its name.
        dtype: the dtype of the tensor it must be, None when nothing says so.
        dims: its sizes, -1 where only a run knows; None when not even their number is known.
        declared: its type in the program, "" when unknown.
    """

    name: str
    dtype: str | None = None
    dims: tuple[int, ...] | None = None
    declared: str = ""

    @property
    def is_static(self) -> bool:
        """Whether it is a tensor of one shape only."""
        return self.dtype is not None and self.dims is not None and -1 not in self.dims


def parameters(executable: Program, func: VMFunction) -> list[Parameter]:
    """Return the parameters of a function of the bytecode, in order."""
    result = [Parameter(name) for name in func.param_names]
    for instr in executable.instructions(func):
        if instr.op is not Opcode.CALL or executable.func_names[instr.func_idx] != _CHECK:
            continue
        values = [_value(executable, arg) for arg in instr.args[1:5]]
        if len(values) < 3 or instr.args[0].kind is not ArgKind.REGISTER:
            continue
        index = instr.args[0].value
        if index >= len(result) or result[index].dtype is not None:
            continue
        rank, dtype, context = values[:3]
        dims = values[3] if len(values) > 3 else None
        if dims is None and isinstance(rank, int) and rank >= 0:
            dims = (-1,) * rank
        if isinstance(dtype, str) and dtype:
            text = str(context).partition("(declared ")[2].rpartition(")")[0]
            declared = text.rpartition(" at ")[0] or text
            sizes = dims if isinstance(dims, tuple) else None
            result[index] = Parameter(result[index].name, dtype, sizes, declared)
    return result


def integer_places(executable: Program, func: VMFunction) -> dict[tuple[int, ...], str]:
    """Return where a function takes integers ("int") and shapes ("shape").

    A place is the number of a parameter, and behind it those of fields of tuples.
    """
    result: dict[tuple[int, ...], str] = {}
    places: dict[int, tuple[int, ...]] = {i: (i,) for i in range(func.num_args)}
    for instr in executable.instructions(func):
        if instr.op is not Opcode.CALL or not instr.args:
            continue
        register, name = instr.args[0], executable.func_names[instr.func_idx]
        place = places.get(register.value) if register.kind is ArgKind.REGISTER else None
        if place is None:
            continue
        if name in _INTEGER_CHECKS:
            result[place] = _INTEGER_CHECKS[name]
        elif name == "vm.builtin.tuple_getitem" and instr.args[1].kind is ArgKind.IMMEDIATE:
            places[instr.dst.value] = (*place, instr.args[1].value)
    return result


def _value(executable: Program, arg: Arg) -> object:
    if arg.kind is ArgKind.CONSTANT:
        return executable.constants[arg.value]
    return arg.value if arg.kind is ArgKind.IMMEDIATE else None
