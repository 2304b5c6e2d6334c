"""The bytecode: four instructions over registers, immediates, constants and functions."""

import enum
import functools
from collections.abc import Sequence
from typing import NamedTuple

# Names of registers that are not registers; both fit the 56 value bits.
VOID_REGISTER = 0x00EC66FE0321975A
VM_STATE_REGISTER = 0x008D14FA4379015C

_VALUE_BITS = 56
_VALUE_MASK = (1 << _VALUE_BITS) - 1
IMMEDIATE_MIN = -(1 << (_VALUE_BITS - 1))
IMMEDIATE_MAX = (1 << (_VALUE_BITS - 1)) - 1


class Opcode(enum.IntEnum):
    """What an instruction does."""

    CALL = 1
    RET = 2
    GOTO = 3
    IF = 4


class ArgKind(enum.IntEnum):
    """Where the value of an argument comes from."""

    REGISTER = 0
    IMMEDIATE = 1
    CONSTANT = 2
    FUNCTION = 3


class Arg(NamedTuple):
    """An operand: a register, a signed 56-bit integer, a constant's index or a function's index."""

    kind: ArgKind
    value: int

    def encode(self) -> int:
        """Return the 64-bit word: kind in the top 8 bits, value in the others."""
        return (int(self.kind) << _VALUE_BITS) | (self.value & _VALUE_MASK)

    @staticmethod
    @functools.lru_cache(maxsize=1 << 12)
    def decode(word: int) -> "Arg":
        """Return the operand of a word; ValueError for a kind that does not exist."""
        kind = ArgKind(word >> _VALUE_BITS)
        value = word & _VALUE_MASK
        if kind is ArgKind.IMMEDIATE and value > IMMEDIATE_MAX:
            value -= 1 << _VALUE_BITS
        return Arg(kind, value)

    @property
    def is_plain_register(self) -> bool:
        """Whether this is a register that holds a value, not void and not the VM state."""
        return self.kind is ArgKind.REGISTER and self.value not in (
            VOID_REGISTER,
            VM_STATE_REGISTER,
        )

    def __str__(self) -> str:
        if self.kind is ArgKind.REGISTER:
            return {VOID_REGISTER: "void", VM_STATE_REGISTER: "%vm"}.get(
                self.value, f"%{self.value}"
            )
        if self.kind is ArgKind.IMMEDIATE:
            return f"i{self.value}"
        return f"c[{self.value}]" if self.kind is ArgKind.CONSTANT else f"f[{self.value}]"


VOID = Arg(ArgKind.REGISTER, VOID_REGISTER)


class Instruction(NamedTuple):
    """One decoded instruction; the fields that its opcode does not use keep their defaults.

    Attributes:
        op: the opcode.
        func_idx: index into the executable's `func_names` (call).
        args: operands (call).
        dst: destination register or `VOID` (call).
        reg: register that is returned (ret) or tested (if).
        offset: distance to the target from this instruction (goto; if: when the test is false).
    """

    op: Opcode
    func_idx: int = -1
    args: tuple[Arg, ...] = ()
    dst: Arg = VOID
    reg: Arg = VOID
    offset: int = 0

    def encode(self) -> list[int]:
        """Return the words of this instruction."""
        if self.op is Opcode.CALL:
            words = [a.encode() for a in self.args]
            return [int(self.op), self.dst.value, self.func_idx, len(words), *words]
        if self.op is Opcode.RET:
            return [int(self.op), self.reg.encode()]
        if self.op is Opcode.GOTO:
            return [int(self.op), self.offset]
        return [int(self.op), self.reg.encode(), self.offset]

    @staticmethod
    def decode(words: Sequence[int]) -> "Instruction":
        """Return the instruction of exactly these words; ValueError when they are not one."""
        op = Opcode(words[0])
        if op is Opcode.CALL:
            if len(words) < 4 or len(words) != 4 + words[3]:
                raise ValueError("a call has a wrong number of words")
            return Instruction(
                op,
                func_idx=words[2],
                args=tuple([Arg.decode(w) for w in words[4:]]),
                dst=Arg(ArgKind.REGISTER, words[1]),
            )
        if len(words) != (3 if op is Opcode.IF else 2):
            raise ValueError(f"'{op.name.lower()}' has a wrong number of words")
        if op is Opcode.GOTO:
            return Instruction(op, offset=words[1])
        reg = Arg.decode(words[1])
        return Instruction(op, reg=reg, offset=words[2] if op is Opcode.IF else 0)
