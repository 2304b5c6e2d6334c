"""Indices as linear sums of values, to compare addresses, bounds and conditions."""

from collections.abc import Mapping

from relax_mlir.dialects.bindings import ir

_SUMS = {"arith.addi": 1, "arith.subi": -1}


class Lin:
    """An integer plus multiples of index values; equal ones are the same number.

    Attributes:
        const: the integer.
        terms: the factor of each value, none of them 0.
    """

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: Mapping[ir.Value, int] | None = None) -> None:
        self.const: int = const
        self.terms: dict[ir.Value, int] = {
            value: factor for value, factor in (terms or {}).items() if factor
        }

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
        return Lin(self.const, {v: f for v, f in self.terms.items() if v != value})

    @property
    def is_const(self) -> bool:
        """Whether it is just an integer."""
        return not self.terms

    def same(self, other: "Lin") -> bool:
        """Whether both are certainly the same number."""
        difference = self.plus(other, -1)
        return difference.is_const and difference.const == 0

    def key(self) -> tuple[int, frozenset[tuple[ir.Value, int]]]:
        """Return a key that is equal for equal sums."""
        return self.const, frozenset(self.terms.items())


def linear(value: ir.Value, known: dict[ir.Value, Lin] | None = None) -> Lin:
    """Return an index value as a linear sum; others are one term.

    Args:
        value: the value.
        known: results of earlier calls, added to.
    """
    if known is not None and value in known:
        return known[value]
    found = _linear(value, known)
    if known is not None:
        known[value] = found
    return found


def _linear(value: ir.Value, known: dict[ir.Value, Lin] | None) -> Lin:
    owner = value.owner
    if isinstance(owner, ir.Block):
        parent = owner.owner.operation
        if parent.name == "tir.block":
            # An iterator is the value that it is bound to.
            return linear(parent.operands[ir.BlockArgument(value).arg_number], known)
        return Lin(0, {value: 1})
    op = owner.operation
    if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
        return Lin(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _SUMS:
        lhs, rhs = (linear(operand, known) for operand in op.operands)
        return lhs.plus(rhs, _SUMS[op.name])
    if op.name == "arith.muli":
        lhs, rhs = (linear(operand, known) for operand in op.operands)
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if one.is_const:
                return other.times(one.const)
    return Lin(0, {value: 1})


def is_inside(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value is made in a region of an operation."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    while True:
        owner = block.owner.operation
        if owner == op:
            return True
        if owner.name in ("func.func", "builtin.module"):
            return False
        block = owner.block


def depends_on(value: ir.Value, counter: ir.Value) -> bool:
    """Whether a value is computed from another."""
    seen: set[ir.Value] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if each == counter:
            return True
        if each in seen or isinstance(each.owner, ir.Block):
            continue
        seen.add(each)
        todo += each.owner.operation.operands
    return False
