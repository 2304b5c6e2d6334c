"""Shape heaps of branch-free functions as local variables of the translated function."""

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from relax_mlir.runtime.bytecode.builtins import PREFIX
from relax_mlir.runtime.bytecode.instructions import Arg, ArgKind, Instruction, Opcode
from relax_mlir.runtime.bytecode.polynomials import polynomial, size_formulas
from relax_mlir.runtime.bytecode.shape_builtins import NO_VALUE
from relax_mlir.runtime.profiling.costs import allowed_tree
from relax_mlir.runtime.program import Program, VMFunction
from relax_mlir.runtime.values.convert import DTYPES

_MAX = (1 << 63) - 1
_MAX_SLOTS = 256
_I64 = np.dtype("int64")
# Builtins that take a heap, and where; none of them keeps it.
_TAKES = {"store_shape": 1, "assert_shape": 1, "bind_symbol": 1, "load_shape": 0, "load_value": 0,
          "check_bounds": 0}  # fmt: skip
_READ_ONLY = ("assert_shape", "check_bounds")
# Formulas that can stand in a line as they are, which `ast.unparse` takes ten times as long for.
_PLAIN, _NAME = re.compile(r"[\w +*/%(),-]*", re.ASCII), re.compile(r"[A-Za-z_]\w*", re.ASCII)


def heap_of(*values: int) -> np.ndarray:
    """Return a shape heap that holds these values."""
    return np.array(values, _I64)


class ShapeLocals:
    """What stands in the place of instructions that use a shape heap.

    Attributes:
        lines: source by the index of an instruction.
        slots: by the register of a heap, its variables.

    Args:
        executable: the program.
        func: one of its functions, without jumps.
        operand: returns the source of an argument.
    """

    def __init__(
        self, executable: Program, func: VMFunction, operand: Callable[[Arg], str],
        native: Container[str],
    ) -> None:  # fmt: skip
        self.lines: dict[int, str] = {}
        self.slots: dict[int, list[str]] = {}
        self._executable, self._operand, self._native = executable, operand, native
        self._code = executable.instructions(func)
        self._own = {f.name for f in executable.global_funcs}
        table = executable.metadata.get("kernels")
        self._kernels: dict[str, Any] = table if isinstance(table, dict) else {}
        written = list(range(func.num_args))
        written += [
            i.dst.value
            for i in self._code
            if i.dst.is_plain_register and self._name(i) != "kill_object"
        ]
        # Of registers that are written once: the rank of a tensor, dimensions that are known to be
        # none of them negative, the formula of a size; slots that hold a number.
        self._once = {r for r, count in Counter(written).items() if count == 1}
        self._ranks: dict[int, int] = {}
        self._sizes: set[str] = set()
        self._shapes: dict[int, list[str]] = {}
        # Formulas as they are read: few are asked for as polynomials.
        self._bytes: dict[int, ast.expr] = {}
        self._trees: dict[str, ast.expr] = {}
        self._known: dict[str, str] = {}
        for i, instr in enumerate(self._code):
            if self._name(instr) == "alloc_shape_heap":
                self._heap(i, instr)

    def is_size_of(self, size: Arg, shape: Arg, dtype: str) -> bool:
        """Whether a number is known to be the bytes of a tensor of a sound shape."""
        if dtype not in DTYPES:
            return False
        width = DTYPES[dtype].itemsize
        if size.kind is ArgKind.IMMEDIATE and shape.kind is ArgKind.CONSTANT:
            dims = self._executable.constants[shape.value]
            known = type(dims) is tuple and all(type(d) is int and d >= 0 for d in dims)
            return known and math.prod(dims) * width == size.value
        if size.kind is not ArgKind.REGISTER or shape.kind is not ArgKind.REGISTER:
            return False
        tree, dims = self._bytes.get(size.value), self._shapes.get(shape.value)
        if tree is None or dims is None:
            return False
        with suppress(RecursionError):
            formula = polynomial(tree)
            known = {name: polynomial(self._trees[name]) for name in dims if name in self._trees}
            return formula is not None and formula in size_formulas(dims, width, known)
        return False

    def _name(self, instr: Instruction) -> str:
        """Return a builtin's name without its prefix, "" for any other call."""
        if instr.op is not Opcode.CALL:
            return ""
        name = self._executable.func_names[instr.func_idx]
        return (
            name.removeprefix(PREFIX) if name.startswith(PREFIX) and name not in self._own else ""
        )

    def _heap(self, start: int, instr: Instruction) -> None:
        """Write the instructions of a heap, if all of them can be."""
        (size,) = instr.args if len(instr.args) == 1 else (Arg(ArgKind.FUNCTION, 0),)
        heap = instr.dst.value
        if size.kind is not ArgKind.IMMEDIATE or heap not in self._once:
            return
        if not 0 < size.value <= _MAX_SLOTS:
            return
        slots = [f"s{heap}_{i}" for i in range(size.value)]
        lines = {start: f"{' = '.join(slots)} = 0"}
        for i, each in enumerate(self._code):
            if each.op is not Opcode.CALL:
                if each.reg.is_plain_register and each.reg.value == heap:
                    return
                continue
            places = [p for p, a in enumerate(each.args) if a == instr.dst]
            if places and self._name(each) != "kill_object":
                text = self._use(each, places, slots)
                if text is None:
                    return
                lines[i] = text
            elif self._name(each) == "check_tensor" and len(each.args) > 1:
                value, rank = each.args[:2]
                if rank.kind is ArgKind.IMMEDIATE and value.kind is ArgKind.REGISTER:
                    self._ranks[value.value] = rank.value
            elif self._name(each) == "check_sizes" and i and i - 1 in lines:
                text = self._check_sizes(each, self._code[i - 1], slots)
                if text is not None:
                    lines[i] = text
        self.lines.update(lines)
        self.slots[heap] = slots

    def _use(self, instr: Instruction, places: list[int], slots: list[str]) -> str | None:
        """Return what stands for an instruction that uses a heap, None where nothing can."""
        name, full = self._name(instr), self._executable.func_names[instr.func_idx]
        callee = f"p{instr.func_idx}"
        entry = self._kernels.get(full) if full in self._native else None
        if isinstance(entry, dict) and "slots" in entry and len(instr.args) == 1:
            text = self._computed(entry["slots"], slots)
            return text or f"h = heap_of({', '.join(slots)}); {callee}(h); {_read_back(slots)}"
        if _TAKES.get(name) is None or places != [_TAKES[name]]:
            return None
        fast = getattr(self, f"_{name}", lambda *_: None)(instr, slots)
        if fast is not None:
            return fast
        dst = f"{self._operand(instr.dst)} = " if instr.dst.is_plain_register else ""
        args = [self._operand(a) for a in instr.args]
        args[places[0]] = "h"
        call = f"h = heap_of({', '.join(slots)}); {dst}{callee}({', '.join(args)})"
        return call if name in _READ_ONLY else f"{call}; {_read_back(slots)}"

    def _slots_of(self, args: Sequence[Arg], slots: list[str], least: int = 0) -> list[str] | None:
        """Return the variables of slots that are given by number; "" for -1."""
        if not all(a.kind is ArgKind.IMMEDIATE and least <= a.value < len(slots) for a in args):
            return None
        return [slots[a.value] if a.value >= 0 else "" for a in args]

    def _store_shape(self, instr: Instruction, slots: list[str]) -> str | None:
        value = instr.args[0]
        wanted = self._slots_of(instr.args[2:], slots, -1)
        if wanted is None or not self._has_rank(value, len(wanted)):
            return None
        self._sizes.update(wanted)
        targets = ", ".join(name or "_" for name in wanted)
        return f"{targets}{',' if len(wanted) == 1 else ''} = {self._operand(value)}.shape"

    def _assert_shape(self, instr: Instruction, slots: list[str]) -> str | None:
        value = instr.args[0]
        wanted = self._slots_of(instr.args[3:], slots, -1)
        if wanted is None or not self._has_rank(value, len(wanted)):
            return None
        text = self._operand(value)
        tests = [f"{text}.shape[{i}] != {name}" for i, name in enumerate(wanted) if name]
        args = [self._operand(a) for a in instr.args]
        args[1] = f"heap_of({', '.join(slots)})"
        return f"({' or '.join(tests) or 'False'}) and p{instr.func_idx}({', '.join(args)})"

    def _load_shape(self, instr: Instruction, slots: list[str]) -> str | None:
        wanted = self._slots_of(instr.args[1:], slots)
        if wanted is None or not instr.dst.is_plain_register:
            return None
        dims = [name if name in self._sizes else self._known.get(name, "") for name in wanted]
        if instr.dst.value in self._once and all(dims):
            self._shapes[instr.dst.value] = dims
        return (
            f"{self._operand(instr.dst)} = ({', '.join(wanted)}{',' if len(wanted) == 1 else ''})"
        )

    def _check_sizes(
        self, instr: Instruction, loading: Instruction, slots: list[str]
    ) -> str | None:
        """Return a check of the shape that the instruction before loads."""
        if self._name(loading) != "load_shape" or len(instr.args) != 2:
            return None
        value = instr.args[0]
        dims = self._slots_of(loading.args[1:], slots)
        if value != loading.dst or value.value not in self._once or not dims:
            return None
        self._shapes[value.value] = [self._known.get(name, name) for name in dims]
        args = ", ".join(self._operand(a) for a in instr.args)
        return f"({' or '.join(f'{name} < 0' for name in dims)}) and p{instr.func_idx}({args})"

    def _load_value(self, instr: Instruction, slots: list[str]) -> str | None:
        wanted = self._slots_of(instr.args[1:], slots)
        if wanted is None or len(wanted) != 1 or not instr.dst.is_plain_register:
            return None
        if instr.dst.value in self._once and wanted[0] in self._trees:
            self._bytes[instr.dst.value] = self._trees[wanted[0]]
        return f"{self._operand(instr.dst)} = {wanted[0]}"

    def _check_bounds(self, instr: Instruction, slots: list[str]) -> str | None:
        wanted = self._slots_of(instr.args[1:2], slots)
        if wanted is None or len(instr.args) != 7:
            return None
        low, high = instr.args[2:4]
        if not low.kind is high.kind is ArgKind.IMMEDIATE:
            return None
        args = [self._operand(a) for a in instr.args]
        args[0] = f"heap_of({', '.join(slots)})"
        return f"{low.value} <= {wanted[0]} <= {high.value} or p{instr.func_idx}({', '.join(args)})"

    def _has_rank(self, value: Arg, rank: int) -> bool:
        known = value.kind is ArgKind.REGISTER and value.value in self._once
        return known and rank > 0 and self._ranks.get(value.value) == rank

    def _computed(self, formulas: Any, slots: list[str]) -> str | None:
        """Return source that computes slots from others as a shape function does."""
        if not isinstance(formulas, dict) or not formulas:
            return None
        known = {f"s{i}": name for i, name in enumerate(slots)}
        lines: list[str] = []
        for slot, text in formulas.items():
            tree = allowed_tree(text)
            target = known.get(f"s{slot}")
            if tree is None or target is None:
                return None
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and node.id not in ("max", "min"):
                    if node.id not in known:
                        return None
                    node.id = known[node.id]
                # What divides by zero or has no value is left to the native function.
                if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                    by = node.right
                    if not (
                        isinstance(by, ast.Constant) and type(by.value) is int and by.value > 0
                    ):
                        return None
            try:
                number = _renamed(text, known)
                if number is None:
                    number = ast.unparse(tree)
            except RecursionError:
                return None
            self._trees[target] = tree.body
            if number.isdigit() and int(number) <= _MAX:
                # A dimension that is known; without others it is in no list of factors.
                self._known[target] = number
                lines.append(f"{target} = {number}")
                continue
            fits = f"{-_MAX} <= (v := {number}) <= {_MAX}"
            lines.append(f"{target} = v if {fits} else {NO_VALUE}")
        return "; ".join(lines)


def _renamed(text: str, names: Mapping[str, str]) -> str | None:
    """Return a formula's text with other names, None where it has more than plain tokens."""
    if _PLAIN.fullmatch(text) is None:
        return None
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


def _read_back(slots: list[str]) -> str:
    return f"{', '.join(slots)}, = h.tolist()"
