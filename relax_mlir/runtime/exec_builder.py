"""ExecBuilder: emits instructions function by function and makes an Executable."""

import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, BytecodeError
from relax_mlir.runtime.bytecode.flow import first_undefined
from relax_mlir.runtime.bytecode.instructions import (
    IMMEDIATE_MAX,
    IMMEDIATE_MIN,
    VM_STATE_REGISTER,
    VOID,
    Arg,
    ArgKind,
    Instruction,
    Opcode,
)
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.files.constant_codec import constant_value, holds_array
from relax_mlir.runtime.program import NativeObject, VMFunction

# Far below the numbers that stand for the VM's state and for no register.
_MAX_REGISTER = 1 << 32
# Elements up to which arrays with equal contents are one constant.
_SMALL = 64


class UnusedInputWarning(UserWarning):
    """An input register of a function is never used."""


@dataclass
class _Scope:
    name: str
    num_inputs: int
    param_names: tuple[str, ...]
    code: list[Instruction] = field(default_factory=list)


class ExecBuilder:
    """Builds an executable one instruction at a time.

    ```python
    ib = ExecBuilder()
    with ib.function("main", num_inputs=2):
        ib.emit_call("vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    ex = ib.get()
    ```

    Args:
        warn_unused_inputs: warn with UnusedInputWarning about inputs that no instruction reads.
    """

    def __init__(self, warn_unused_inputs: bool = True) -> None:
        self._warn = warn_unused_inputs
        self._functions: list[VMFunction] = []
        self._code: list[Instruction] = []
        self._constants: list[Any] = []
        self._constant_index: dict[Any, int] = {}
        self._func_names: dict[str, int] = {}
        self._scope: _Scope | None = None

    # Operands

    def r(self, index: int) -> Arg:
        """Return register `index` of the current frame; the first ones hold the inputs."""
        index = operator.index(index)
        if index < 0:
            raise ValueError(f"a register's index cannot be negative, got {index}")
        if index >= _MAX_REGISTER:
            raise ValueError(f"a register's index must be below {_MAX_REGISTER}, got {index}")
        return Arg(ArgKind.REGISTER, index)

    def c(self, index: int) -> Arg:
        """Return constant `index` of the pool, see `emit_constant`."""
        return Arg(ArgKind.CONSTANT, operator.index(index))

    def f(self, name: str) -> Arg:
        """Return a function as an operand, for builtins that take one (closures, call_tir_dyn)."""
        return Arg(ArgKind.FUNCTION, self._func_index(name))

    def imm(self, value: Any) -> Arg:
        """Return an immediate; what does not fit a signed 56-bit integer becomes a constant."""
        if isinstance(value, (int, np.integer)) and type(value) is not bool:
            value = int(value)
            if IMMEDIATE_MIN <= value <= IMMEDIATE_MAX:
                return Arg(ArgKind.IMMEDIATE, value)
        return self.emit_constant(value)

    def vm_state(self) -> Arg:
        """Return the special register that holds the VM's state."""
        return Arg(ArgKind.REGISTER, VM_STATE_REGISTER)

    def void_arg(self) -> Arg:
        """Return the operand that stands for no value; as `dst`, the result is dropped."""
        return VOID

    def emit_constant(self, value: Any) -> Arg:
        """Add a value to the constant pool and return its operand; equal small values share one.

        Takes arrays and what `__dlpack__` makes one, shapes and other tuples, strings, dtypes,
        numbers, bytes and None. Arrays are held, not copied.

        Raises:
            ArgumentTypeError: any other value.
        """
        value = constant_value(value)
        # Large arrays are neither printed nor read: they may still be being filled.
        if isinstance(value, np.ndarray):
            small = value.size <= _SMALL
            key = (value.dtype, value.shape, value.tobytes()) if small else id(value)
        elif isinstance(value, tuple) and holds_array(value):
            key = id(value)
        else:
            key = f"{type(value).__name__} {value!r}"
        if key not in self._constant_index:
            self._constant_index[key] = len(self._constants)
            self._constants.append(value)
        return self.c(self._constant_index[key])

    # TVM's name of it since 0.22.
    convert_constant = emit_constant

    def _func_index(self, name: str) -> int:
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(f"a function's name must be a string, got {name!r}")
        return self._func_names.setdefault(name, len(self._func_names))

    def _operand(self, value: Any) -> Arg:
        return value if isinstance(value, Arg) else self.imm(value)

    # Instructions

    @contextmanager
    def function(
        self, name: str, num_inputs: int = 0, param_names: Sequence[str] | None = None
    ) -> Iterator[None]:
        """Open a function; what is emitted in the `with` block is its body.

        On leaving, registers are checked and renumbered in the order of their use.

        Raises:
            ValueError: a function of that name exists, another one is open, a jump has no valid
                target, or the body does not end with `emit_ret` or `emit_goto`.
            BytecodeError: a register is read where on some way nothing has been written to it.
        """
        if self._scope is not None:
            raise ValueError(f"function '{self._scope.name}' is still open")
        if any(f.name == name for f in self._functions):
            raise ValueError(f"function '{name}' is defined already")
        names = tuple(param_names or [f"arg{i}" for i in range(num_inputs)])
        if len(names) != num_inputs or len(set(names)) != len(names):
            raise ValueError(
                f"function '{name}' needs {num_inputs} distinct parameter names, got {names}"
            )
        self._scope = scope = _Scope(name, num_inputs, names)
        try:
            yield
            self._finish(scope)
        finally:
            self._scope = None

    def emit_call(self, name: str, args: Iterable[Any] = (), dst: Arg | None = None) -> int:
        """Emit a call and return the instruction's index.

        Operands that are plain values become immediates (integers) or constants (the others).
        """
        self._body(f"call {name}")
        operands = tuple([self._operand(a) for a in args])
        return self._emit(
            Instruction(
                Opcode.CALL,
                func_idx=self._func_index(name),
                args=operands,
                dst=VOID if dst is None else self._register(dst, "dst", void=True),
            )
        )

    def emit_ret(self, result: Any) -> int:
        """Emit a return of a register (any other operand is moved to one first)."""
        self._body("ret")
        operand = self._operand(result)
        if not operand.is_plain_register:
            target = self.r(1 + max([-1, *self._registers_in_use()]))
            self.emit_call("vm.builtin.move", [operand], dst=target)
            operand = target
        return self._emit(Instruction(Opcode.RET, reg=operand))

    def emit_if(self, cond: Arg, false_offset: int = 0) -> int:
        """Emit a test: true goes on with the next instruction, false jumps.

        Without an offset the target is set later, with `patch`.
        """
        self._body("if")
        reg = self._register(cond, "cond")
        return self._emit(Instruction(Opcode.IF, reg=reg, offset=operator.index(false_offset)))

    def emit_goto(self, pc_offset: int = 0) -> int:
        """Emit a jump relative to itself; without an offset the target is set with `patch`."""
        self._body("goto")
        return self._emit(Instruction(Opcode.GOTO, offset=operator.index(pc_offset)))

    def here(self) -> int:
        """Return the index, in the open function, of the instruction that is emitted next."""
        return len(self._body("here").code)

    def patch(self, jump: int, target: int | None = None) -> None:
        """Let the jump of index `jump` go to `target`, or to the instruction emitted next.

        Raises:
            ValueError: `jump` is no `if` or `goto` of the open function.
        """
        code = self._body("patch").code
        if not 0 <= jump < len(code) or code[jump].op not in (Opcode.IF, Opcode.GOTO):
            raise ValueError(f"instruction {jump} is not a jump")
        code[jump] = code[jump]._replace(offset=(len(code) if target is None else target) - jump)

    def get(
        self, native: Iterable[NativeObject] = (), metadata: dict[str, Any] | None = None
    ) -> Executable:
        """Return the executable; ValueError when a function is still open."""
        if self._scope is not None:
            raise ValueError(f"function '{self._scope.name}' is still open")
        data: list[int] = []
        offsets = []
        for instr in self._code:
            offsets.append(len(data))
            data += instr.encode()
        executable = Executable(
            self._functions, self._constants, self._func_names, data, offsets, native, metadata
        )
        executable.check()
        return executable

    def _emit(self, instr: Instruction) -> int:
        scope = self._body(instr.op.name.lower())
        scope.code.append(instr)
        return len(scope.code) - 1

    def _body(self, what: str) -> _Scope:
        if self._scope is None:
            raise ValueError(f"cannot emit '{what}' outside of `with builder.function(...)`")
        return self._scope

    def _register(self, arg: Any, what: str, void: bool = False) -> Arg:
        if isinstance(arg, Arg) and (arg.is_plain_register or (void and arg == VOID)):
            return arg
        raise ValueError(f"{what} must be a register, got {arg}")

    def _registers_in_use(self) -> set[int]:
        scope = self._body("ret")
        used = set(range(scope.num_inputs))
        for instr in scope.code:
            operands = (*instr.args, instr.dst, instr.reg)
            used |= {a.value for a in operands if a.is_plain_register}
        return used

    def _finish(self, scope: _Scope) -> None:
        """Check a body and renumber its registers in the order of their use."""
        code, where = scope.code, f"function '{scope.name}'"
        if not code or code[-1].op not in (Opcode.RET, Opcode.GOTO):
            raise ValueError(f"{where} must end with emit_ret")
        for i, instr in enumerate(code):
            if instr.op in (Opcode.IF, Opcode.GOTO) and (
                instr.offset == 0 or not 0 <= i + instr.offset < len(code)
            ):
                raise ValueError(f"{where}, instruction {i}: the jump has no valid target")
        early = first_undefined(code, scope.num_inputs)
        if early is not None:
            raise BytecodeError(
                f"{where}, instruction {early[0]}: register {early[1]} is used before it is defined"
                f" (the function has {scope.num_inputs} inputs)"
            )
        # Old number -> new one; the inputs keep theirs.
        numbers = {i: i for i in range(scope.num_inputs)}
        used: set[int] = set()

        def renamed(arg: Arg) -> Arg:
            if not arg.is_plain_register:
                return arg
            return Arg(arg.kind, numbers.setdefault(arg.value, len(numbers)))

        for i, instr in enumerate(code):
            used |= {a.value for a in (*instr.args, instr.reg) if a.is_plain_register}
            args = tuple([renamed(a) for a in instr.args])
            reg = renamed(instr.reg)
            code[i] = instr._replace(args=args, reg=reg, dst=renamed(instr.dst))
        unused = [n for i, n in enumerate(scope.param_names) if i not in used]
        if unused and self._warn:
            warnings.warn(
                f"{where}: input {', '.join(unused)} is never used",
                UnusedInputWarning,
                stacklevel=4,
            )
        start = len(self._code)
        self._code += code
        self._functions.append(
            VMFunction(
                scope.name,
                start,
                len(self._code),
                scope.num_inputs,
                len(numbers),
                scope.param_names,
            )
        )
