"""Results of a function's shape computations, cached by the shapes of its arguments."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from relax_mlir.runtime.bytecode.instructions import Instruction, Opcode


class ShapeMemory(NamedTuple):
    """The first instructions of straight code, which look at nothing but shapes of arguments.

    One call is kept. A tuple is put in its place at once, so threads need no lock.

    Attributes:
        end: how many instructions they are.
        dtypes: for each argument that they look at, the constant that names its dtype.
        variables: variables that they set and that are read after them.
    """

    end: int
    dtypes: Mapping[int, int]
    variables: Sequence[str]

    def read(self, memory: str) -> str:
        """Return a statement that takes what was kept in a list of one tuple."""
        shapes = [f"k{r}" for r in self.dtypes]
        return f"{', '.join([*shapes, *self.variables])}, = {memory}[0]"

    def differs(self) -> str:
        """Return a condition that holds where this call is not like the one that was kept."""
        return " or ".join(
            f"type(r{r}) is not ndarray or r{r}.dtype is not d{dtype} or r{r}.shape != k{r}"
            for r, dtype in self.dtypes.items()
        )

    def keep(self, memory: str) -> str:
        """Return a statement that keeps this call."""
        shapes = [f"r{r}.shape" for r in self.dtypes]
        return f"{memory}[0] = ({', '.join([*shapes, *self.variables])},)"

    def nothing(self) -> tuple[None, ...]:
        """Return what is kept before the first call."""
        return (None,) * (len(self.dtypes) + len(self.variables))


def shape_memory(
    code: Sequence[Instruction], num_args: int, checks: Mapping[int, int], lines: Container[int],
    slots: Mapping[int, Sequence[str]], skipped: Container[int],
) -> ShapeMemory | None:  # fmt: skip
    """Return what there is to keep of straight code, or None.

    Args:
        code: the instructions.
        num_args: registers from 0 that are arguments.
        checks: instructions that check rank and dtype of a tensor, and the dtype's constant.
        lines: instructions on shape heaps that have become variables.
        slots: those variables by the heap's register.
        skipped: instructions that are written later than in their place.
    """
    dtypes: dict[int, int] = {}
    written: set[int] = set()
    end = 0
    for i, instr in enumerate(code):
        if i in skipped:
            continue
        dst = instr.dst.value if instr.dst.is_plain_register else num_args
        if instr.op is not Opcode.CALL or dst < num_args:
            break
        if i in checks and instr.args[0].value < num_args:
            dtypes.setdefault(instr.args[0].value, checks[i])
        elif i in lines and _registers([instr]) <= dtypes.keys() | written:
            written.add(dst)
        else:
            break
        end = i + 1
    heaps = slots.keys() & written
    if not dtypes or not heaps:
        return None
    rest = [each for i, each in enumerate(code) if i >= end or i in skipped]
    result = [f"r{r}" for r in sorted((written & _registers(rest)) - heaps)]
    for heap in sorted(heaps & _registers(rest)):
        result += slots[heap]
    return ShapeMemory(end, dtypes, result)


def _registers(code: Sequence[Instruction]) -> set[int]:
    """Return the registers that instructions read."""
    return {a.value for i in code for a in (*i.args, i.reg) if a.is_plain_register}
