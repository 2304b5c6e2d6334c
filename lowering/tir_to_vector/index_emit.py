"""Index arithmetic with constant folding; constants and sizes of a function."""

import functools
import operator
from collections.abc import Callable, Iterable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.walk import defining_op

Index = int | ir.Value
# A range: its first, and the one after its last.
Span = tuple[Index, Index]


class IndexValue(ir.Value):
    """An index that run time knows, with the arithmetic of an integer.

    So the same expressions serve numbers and values. Results fold where they are known; `//` is of
    non-negative numbers, `&` and `|` are of their bits.
    """

    def __init__(self, value: ir.Value, emit: "IndexEmitter") -> None:
        super().__init__(value)
        self._emit = emit

    def __add__(self, other: Index) -> Index:
        return self._emit.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Index) -> Index:
        return self._emit.sub(self, other)

    def __rsub__(self, other: Index) -> Index:
        return self._emit.sub(other, self)

    def __neg__(self) -> Index:
        return self._emit.sub(0, self)

    def __mul__(self, other: Index) -> Index:
        return self._emit.mul(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Index) -> Index:
        return self._emit.div(self, other)

    def __rfloordiv__(self, other: Index) -> Index:
        return self._emit.div(other, self)

    def __and__(self, other: Index) -> Index:
        return self._emit._index_op("arith.andi", self, other)

    __rand__ = __and__

    def __or__(self, other: Index) -> Index:
        return self._emit._index_op("arith.ori", self, other)

    __ror__ = __or__

    def __lt__(self, other: Index) -> "BoolValue":
        return self._emit.compare("slt", self, other)

    def __le__(self, other: Index) -> "BoolValue":
        return self._emit.compare("sle", self, other)

    def __gt__(self, other: Index) -> "BoolValue":
        return self._emit.compare("sgt", self, other)

    def __ge__(self, other: Index) -> "BoolValue":
        return self._emit.compare("sge", self, other)


Bool = bool | ir.Value


class BoolValue(ir.Value):
    """A condition that run time knows, with `&` and `|` of it and of other ones, known or not."""

    def __init__(self, value: ir.Value, emit: "IndexEmitter") -> None:
        super().__init__(value)
        self._emit = emit

    def __bool__(self) -> bool:
        raise TypeError("a condition of run-time sizes decides nothing when the kernel is written")

    def __and__(self, other: Bool) -> Bool:
        return self._emit.both(self, other)

    def __rand__(self, other: Bool) -> Bool:
        return self._emit.both(other, self)

    def __or__(self, other: Bool) -> Bool:
        return self._emit.either_holds(self, other)

    __ror__ = __or__


_KNOWN = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le,
    "sgt": operator.gt, "sge": operator.ge,
}  # fmt: skip
_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ule": 7}


class IndexEmitter:
    """Writes operations at the current insertion point; constants go to the function's entry.

    An `Index` is an `index` value or a Python integer; the latter becomes a constant on use. What
    is returned for an `Index` is an `int` or an `IndexValue`.
    """

    def __init__(self, entry: ir.Block) -> None:
        # Constants go before the first mark, other code of the entry between the two.
        i1 = ir.IntegerType.get_signless(1)
        with ir.InsertionPoint.at_block_begin(entry):
            self._marks = [ir.Operation.create("ub.poison", results=[i1]) for _ in "ab"]
        self._constants: dict[tuple[ir.Type, ir.Attribute], ir.Value] = {}
        self._sizes: dict[SymExpr, ir.Value] = {}
        # Most operands are indices: their constants are found by number, without an attribute.
        self._numbers: dict[int, ir.Value] = {}
        self._parsed: dict[str, ir.Attribute] = {}
        self.index_type: ir.IndexType = ir.IndexType.get()
        self.bool_type = i1
        self._i64 = ir.IntegerType.get_signless(64)

    def effect(
        self, name: str, operands: Sequence[ir.Value], **attributes: ir.Attribute
    ) -> ir.Operation:
        """Write an operation without results."""
        return ir.Operation.create(name, operands=list(operands), attributes=attributes)

    def op(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute
    ) -> ir.Value:
        """Write an operation; returns its result."""
        value = ir.Operation.create(
            name, results=[result], operands=list(operands), attributes=attributes
        ).result
        if result is self.bool_type:
            return BoolValue(value, self)
        return IndexValue(value, self) if isinstance(result, ir.IndexType) else value

    def constant(self, type_: ir.Type, value: float) -> ir.Value:
        """Return a scalar or splat constant; NaN and infinities are fine."""
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        if isinstance(element, (ir.IntegerType, ir.IndexType)):
            return self.constant_of(type_, ir.IntegerAttr.get(element, int(value)))
        return self.constant_of(type_, ir.FloatAttr.get(element, float(value)))

    def constant_of(self, type_: ir.Type, attr: ir.Attribute) -> ir.Value:
        """Return the constant of an attribute; a number's is in all lanes of a vector."""
        if isinstance(type_, ir.VectorType) and isinstance(attr, (ir.FloatAttr, ir.IntegerAttr)):
            attr = ir.DenseElementsAttr.get_splat(type_, attr)
        key = (type_, attr)
        if key not in self._constants:
            with ir.InsertionPoint(self._marks[0]):
                self._constants[key] = self.op("arith.constant", [], type_, value=attr)
        return self._constants[key]

    def at_entry(self) -> ir.InsertionPoint:
        """Return the insertion point for code that the whole function may use."""
        return ir.InsertionPoint(self._marks[1])

    def close(self) -> None:
        """Remove the marks at the entry; nothing can be written afterwards."""
        for mark in self._marks:
            mark.erase()
        # Values refer to what writes their arithmetic: no cycles are left to the collector.
        self._constants.clear()
        self._sizes.clear()
        self._numbers.clear()

    def parsed(self, text: str) -> ir.Attribute:
        """Return the attribute of a text; parsing takes longer than writing an operation."""
        if text not in self._parsed:
            self._parsed[text] = ir.Attribute.parse(text)
        return self._parsed[text]

    def index(self, value: Index) -> ir.Value:
        """Return an index value."""
        if not isinstance(value, int):
            return value
        if value not in self._numbers:
            self._numbers[value] = self.constant(self.index_type, value)
        return self._numbers[value]

    def add(self, a: Index, b: Index) -> Index:
        """Return a + b."""
        if isinstance(a, int):
            a, b = b, a
        return a if b == 0 else self._folded("arith.addi", operator.add, a, b)

    def sub(self, a: Index, b: Index) -> Index:
        """Return a - b."""
        return a if b == 0 else self._folded("arith.subi", operator.sub, a, b)

    def mul(self, a: Index, b: Index) -> Index:
        """Return a * b."""
        if isinstance(a, int):
            a, b = b, a
        if b == 0:
            return 0
        return a if b == 1 else self._folded("arith.muli", operator.mul, a, b)

    def div(self, a: Index, b: Index) -> Index:
        """Return a // b of non-negative numbers."""
        if isinstance(a, int) and isinstance(b, int) and b:
            return a // b
        return a if b == 1 else self._index_op("arith.divui", a, b)

    def min(self, a: Index, b: Index) -> Index:
        """Return the smaller."""
        return self._folded("arith.minsi", min, a, b)

    def max(self, a: Index, b: Index) -> Index:
        """Return the larger."""
        return self._folded("arith.maxsi", max, a, b)

    def round_down(self, a: Index, step: int) -> Index:
        """Return the largest multiple of `step` that is at most a."""
        return self.mul(self.div(a, step), step)

    def compare(self, predicate: str, a: Index, b: Index) -> ir.Value:
        """Return whether `a predicate b`, as an i1; of vectors of integers as a mask."""
        attr = ir.IntegerAttr.get(self._i64, _PREDICATES[predicate])
        a, b = self.index(a), self.index(b)
        return self.op("arith.cmpi", [a, b], self.condition_type(a.type), predicate=attr)

    def condition_type(self, type_: ir.Type) -> ir.Type:
        """Return the type of a condition on values of a type: an i1, or a mask for vectors."""
        is_vector = isinstance(type_, ir.VectorType)
        return ir.VectorType.get(type_.shape, self.bool_type) if is_vector else self.bool_type

    def holds(self, predicate: str, a: Index, b: Index) -> Bool:
        """Return whether `a predicate b`, as a bool if both are static, else as an i1."""
        if isinstance(a, int) and isinstance(b, int):
            return _KNOWN[predicate](a, b)
        return self.compare(predicate, a, b)

    def all_hold(self, conditions: Iterable[Bool]) -> Bool:
        """Return whether all conditions hold; any may be static."""
        return functools.reduce(self.both, conditions, True)

    def all_at_most(self, *pairs: tuple[Index, Index]) -> Bool:
        """Return whether the first of each pair is at most the second; known ones decide first."""
        known = [a <= b for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
        return all(known) and self.all_hold(self.holds("sle", a, b) for a, b in pairs)

    def both(self, a: Bool, b: Bool) -> Bool:
        """Return the conjunction of conditions, or of masks; conditions may be static."""
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self.op("arith.andi", [a, b], self.condition_type(a.type))

    def either_holds(self, a: bool | ir.Value, b: bool | ir.Value) -> bool | ir.Value:
        """Return the disjunction of conditions, or of masks; conditions may be static."""
        if a is True or b is True:
            return True
        if isinstance(a, ir.Value) and isinstance(b, ir.Value):
            return self.op("arith.ori", [a, b], self.condition_type(a.type))
        return b if a is False else a

    def negated(self, a: bool | ir.Value) -> bool | ir.Value:
        """Return whether a condition, or each of a mask, does not hold; it may be static."""
        if isinstance(a, bool):
            return not a
        type_ = self.condition_type(a.type)
        return self.op("arith.xori", [a, self.constant(type_, 1)], type_)

    def select(self, condition: Bool, a: Index, b: Index) -> Index:
        """Return a where the condition holds, else b; indices or values of one type."""
        if isinstance(condition, bool):
            return a if condition else b
        yes, no = self.index(a), self.index(b)
        return self.op("arith.select", [condition, yes, no], yes.type)

    def _folded(self, name: str, fold: Callable[[int, int], int], a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return fold(a, b)
        return self._index_op(name, a, b)

    def _index_op(self, name: str, a: Index, b: Index) -> ir.Value:
        return self.op(name, [self.index(a), self.index(b)], self.index_type)

    def size(self, expr: SymExpr) -> Index:
        """Return the value of a symbolic size."""
        if expr.is_const:
            return expr.value
        if expr not in self._sizes:
            with ir.InsertionPoint(self._marks[0]):
                value = Dims.of([expr])
                self._sizes[expr] = self.op("tir.symbol", [], self.index_type, value=value)
        return self._sizes[expr]


def larger(a: Index, b: Index) -> Index:
    """Return the larger of two indices."""
    known = a if isinstance(a, IndexValue) else b
    return known._emit.max(a, b) if isinstance(known, IndexValue) else max(a, b)


def ceil_div(a: Index, b: Index) -> Index:
    """Return a / b, rounded up."""
    return (a + (b - 1)) // b


def round_up(a: Index, step: Index) -> Index:
    """Return the least multiple of `step` that is no less than a."""
    return ceil_div(a, step) * step


def steps_of(emit: IndexEmitter, extent: Index, inner: Iterable[Index]) -> Index:
    """Return the trip count of a reduction's loop: zero around loops of zero, 2**60 times nothing.

    `inner` are the extents of the reduction's inner loops.
    """
    for steps in inner:
        if not isinstance(steps, int):
            extent = emit.select(emit.compare("sle", steps, 0), 0, extent)
    return extent


def is_zero(number: ir.Attribute) -> bool:
    """Whether a number's attribute is zero."""
    kind = ir.FloatAttr if isinstance(number, ir.FloatAttr) else ir.IntegerAttr
    return kind(number).value == 0


def is_constant(value: ir.Value) -> bool:
    """Whether a value is an `arith.constant`."""
    return defining_op(value, "arith.constant") is not None


def constant_or_value(value: ir.Value) -> Index:
    """Return the integer of an `arith.constant`, else the value."""
    op = defining_op(value, "arith.constant")
    return value if op is None else ir.IntegerAttr(op.attributes["value"]).value
