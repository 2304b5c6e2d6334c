"""Affine indices of loops, and copies of scheduled loops."""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.walk import block_of, defining_op, is_below

_SUMS = {"arith.addi": 1, "arith.subi": -1}


@dataclass(frozen=True)
class Lin:
    """An integer plus multiples of index values; equal ones are the same number.

    Attributes:
        const: the integer.
        terms: the factor of each value; those of 0 are left out.
    """

    const: int
    terms: Mapping[ir.Value, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {value: factor for value, factor in self.terms.items() if factor}
        object.__setattr__(self, "terms", known)

    def __hash__(self) -> int:
        return hash((self.const, frozenset(self.terms.items())))

    def plus(self, other: "Lin", factor: int = 1) -> "Lin":
        """Return `self + factor * other`."""
        terms = dict(self.terms)
        for value, times in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * times
        return Lin(self.const + factor * other.const, terms)

    def times(self, factor: int) -> "Lin":
        """Return a multiple."""
        return Lin(0).plus(self, factor)

    def factor(self, value: ir.Value) -> int:
        """Return the factor of a value."""
        return self.terms.get(value, 0)

    def without(self, value: ir.Value) -> "Lin":
        """Return the sum without a value."""
        return Lin(self.const, {**self.terms, value: 0})


def linear(value: ir.Value, known: dict[ir.Value, Lin] | None = None) -> Lin:
    """Return an index value as a linear sum; others are one term.

    `known` are the results of earlier calls, added to.
    """
    known = {} if known is None else known
    if value not in known:
        known[value] = _linear(value, known)
    return known[value]


def _linear(value: ir.Value, known: dict[ir.Value, Lin]) -> Lin:
    op = defining_op(value)
    if op is None:
        parent = value.owner.owner.operation
        if parent.name == "tir.block":
            # An iterator is the value that it is bound to.
            return linear(parent.operands[ir.BlockArgument(value).arg_number], known)
        return Lin(0, {value: 1})
    if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
        return Lin(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _SUMS:
        lhs, rhs = (linear(operand, known) for operand in op.operands)
        return lhs.plus(rhs, _SUMS[op.name])
    if op.name == "arith.muli":
        lhs, rhs = (linear(operand, known) for operand in op.operands)
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if not one.terms:
                return other.times(one.const)
    return Lin(0, {value: 1})


# Of operations that access memory: where the buffer is among the operands, where the mask is, where
# what is stored is.
ACCESSES = {
    "memref.load": (0, None, None),
    "memref.store": (1, None, 0),
    "vector.load": (0, None, None),
    "vector.store": (1, None, 0),
    "vector.maskedload": (0, -2, None),
    "vector.maskedstore": (0, -2, -1),
}


@dataclass(frozen=True)
class Access:
    """A load or store of an element or of a vector.

    Attributes:
        op: the operation.
        buffer: what it accesses.
        indices: its indices.
        where: these as linear sums.
        mask: the mask of its lanes, None for all.
        stores: whether it is a store.
        type: the type of what is loaded or stored.
    """

    op: ir.Operation
    buffer: ir.Value
    indices: list[ir.Value]
    where: list[Lin]
    mask: ir.Value | None
    stores: bool
    type: ir.Type

    @staticmethod
    def of(op: ir.Operation, known: dict[ir.Value, Lin]) -> "Access":
        """Return the access of an operation, given what is known of values (see `linear`)."""
        position, mask, stored = ACCESSES[op.name]
        operands = list(op.operands)
        buffer = operands[position]
        indices = operands[position + 1 : position + 1 + buffer.type.rank]
        return Access(
            op, buffer, indices, [linear(value, known) for value in indices],
            None if mask is None else operands[mask], stored is not None,
            op.results[0].type if stored is None else operands[stored].type,
        )  # fmt: skip

    @property
    def width(self) -> int:
        """The number of elements."""
        return self.type.shape[0] if isinstance(self.type, ir.VectorType) else 1


def is_inside(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is made in a region of an operation."""
    return is_below(block_of(value).owner.operation, op)


def varies(value: ir.Value, loop: ir.Operation, pure: tuple[str, ...] = ("",)) -> bool:
    """Whether a value may differ between the steps of a loop.

    `pure` is what names of operations begin with whose results depend on their operands only.
    """
    if not is_inside(value, loop):
        return False
    op = defining_op(value)
    if op is None or not op.name.startswith(pure):
        return True
    return any(varies(operand, loop, pure) for operand in op.operands)


def depends_on(value: ir.Value, counter: ir.Value) -> bool:
    """Whether a value is computed from another."""
    seen: set[ir.Value] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if each == counter:
            return True
        op = defining_op(each)
        if each not in seen and op is not None:
            seen.add(each)
            todo += op.operands
    return False


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """Return the conditions that one joins by 'and'."""
    op = defining_op(condition, "arith.andi")
    if op is None:
        return [condition]
    return [each for operand in op.operands for each in conjuncts(operand)]


# Predicates of arith.cmpi.
LESS, AT_MOST, GREATER, AT_LEAST = 2, 3, 4, 5
_FOLDS = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"}
_SIGNED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_COMPARE = dict(enumerate(_SIGNED))
_QUOTIENTS = {
    "arith.divui": operator.floordiv, "arith.divsi": operator.floordiv,
    "arith.floordivsi": operator.floordiv, "arith.remui": operator.mod, "arith.remsi": operator.mod,
}  # fmt: skip
_NUMBERS = {"arith.minsi": min, "arith.maxsi": max, **_QUOTIENTS}
_TRUTH = {"arith.andi": operator.and_, "arith.ori": operator.or_, "arith.xori": operator.xor}
_ENDS = ("tir.yield", "scf.yield", "scf.reduce", "scf.condition")


class Copier:
    """Copies operations to the insertion point; equal index constants are one."""

    def __init__(self, emit: Emitter, env: Mapping[ir.Value, Any]) -> None:
        """Begin with the replacements of values from outside."""
        self.emit = emit
        self.env: dict[ir.Value, Any] = dict(env)
        self._decisions: dict[ir.Operation, bool] = {}

    def decide(self, branch: ir.Operation, taken: bool) -> None:
        """Copy only one side of an `scf.if`."""
        self._decisions[branch] = taken

    def index(self, value: ir.Value) -> Index:
        """Return the replacement of a value."""
        return self.env.get(value, value)

    def value(self, value: ir.Value) -> ir.Value:
        """Return the replacement of a value, as a value."""
        result = self.env.get(value, value)
        if isinstance(result, int):
            return self.emit.constant(value.type, result)
        return result

    def pull(self, value: ir.Value, loop: ir.Operation) -> ir.Value:
        """Copy what computes a value inside a loop, for use outside of it."""
        if value not in self.env and is_inside(value, loop):
            op = value.owner.operation
            for operand in op.operands:
                self.pull(operand, loop)
            with op.location:
                self.op(op)
        return self.value(value)

    def body(self, block: ir.Block) -> None:
        """Copy the operations of a loop's body, without its end."""
        self.ops(view.operation for view in list(block.operations))

    def ops(self, ops: Iterable[ir.Operation]) -> None:
        """Copy operations, without terminators."""
        for op in ops:
            if op.name not in _ENDS:
                with op.location:
                    self.op(op)

    def op(self, op: ir.Operation) -> None:
        """Copy one operation."""
        if self._folded(op):
            return
        if len(op.regions):
            self.with_regions(op)
            return
        made = op.clone()
        for position, operand in enumerate(op.operands):
            if operand in self.env:
                made.operands[position] = self.value(operand)
        self.env.update(zip(op.results, made.results, strict=True))

    def with_regions(self, op: ir.Operation) -> None:
        """Copy an operation with its regions."""
        made = ir.Operation.create(
            op.name,
            results=[result.type for result in op.results],
            operands=[self.value(operand) for operand in op.operands],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
        for source, target in zip(op.regions, made.regions, strict=True):
            for block in source.blocks:
                types = [argument.type for argument in block.arguments]
                copy = target.blocks.append(*types, arg_locs=[op.location] * len(types))
                self.env.update(zip(block.arguments, copy.arguments, strict=True))
                with ir.InsertionPoint(copy):
                    for view in list(block.operations):
                        inner = view.operation
                        with inner.location:
                            if inner.name in _ENDS:
                                Copier.op(self, inner)
                            else:
                                self.op(inner)
        self.env.update(zip(op.results, made.results, strict=True))

    def _folded(self, op: ir.Operation) -> bool:
        """Fold index arithmetic and conditions, if possible."""
        if op.name == "scf.if":
            condition = self._decisions.get(op, self._known(op.operands[0]))
            if isinstance(condition, int):
                self.take(op, bool(condition))
            return isinstance(condition, int)
        if len(op.results) != 1 or not op.name.startswith("arith."):
            return False
        result = op.results[0]
        is_index = isinstance(result.type, ir.IndexType)
        if op.name == "arith.constant" and (is_index or str(result.type) == "i1"):
            number = ir.IntegerAttr(op.attributes["value"]).value
            self.env[result] = number if is_index else abs(int(number))
            return True
        operands = [self._known(operand) for operand in op.operands]
        if op.name in _FOLDS and is_index:
            self.env[result] = getattr(self.emit, _FOLDS[op.name])(*operands)
            return True
        if op.name == "arith.select" and isinstance(operands[0], int):
            self.env[result] = operands[1 if operands[0] else 2]
            return True
        known = [each for each in operands if isinstance(each, int)]
        if len(known) != 2:
            return False
        if op.name == "arith.cmpi" and isinstance(op.operands[0].type, ir.IndexType):
            decide = _COMPARE.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        else:
            decide = (_NUMBERS if is_index else _TRUTH).get(op.name)
        if decide is None or (op.name in _QUOTIENTS and (known[1] <= 0 or known[0] < 0)):
            return False
        self.env[result] = int(decide(*known))
        return True

    def take(self, op: ir.Operation, condition: bool) -> None:
        """Copy one side of an `scf.if` instead of it."""
        region = op.regions[0 if condition else 1]
        if len(region.blocks):
            for result, value in zip(op.results, self.branch(region.blocks[0]), strict=True):
                self.env[result] = self.index(value)

    def branch(self, block: ir.Block) -> list[ir.Value]:
        """Copy the operations of a branch, and return what it yields, as it was."""
        *body, end = [view.operation for view in block.operations]
        self.ops(body)
        return list(end.operands)

    def _known(self, value: ir.Value) -> Index:
        result = self.index(value)
        return result if isinstance(result, int) else integer_of(result)


def integer_of(value: ir.Value) -> Index:
    """Return the integer of a constant index or condition, else the value."""
    op = defining_op(value, "arith.constant")
    if op is None:
        return value
    attribute = op.attributes["value"]
    if isinstance(value.type, ir.IndexType):
        return ir.IntegerAttr(attribute).value
    return abs(int(ir.IntegerAttr(attribute).value)) if str(value.type) == "i1" else value
