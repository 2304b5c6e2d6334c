"""Conditions on indices, of which predicates consist."""

from collections.abc import Iterable, Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.conditions import Condition
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts

# arith.cmpi: eq, ne, slt, sle, sgt, sge.
SIGNS = ("==", "!=", "<", "<=", ">", ">=")


class Comparison:
    """One of the conditions that a predicate joins by 'and'."""

    __slots__ = ("lhs", "rhs", "sign")

    lhs: SymExpr
    sign: int
    rhs: SymExpr

    def __init__(self, lhs: SymExpr, sign: int, rhs: SymExpr) -> None:
        self.lhs, self.sign, self.rhs = lhs, sign, rhs

    def substitute(self, values: Mapping[str, SymExpr]) -> "Comparison":
        """Return the comparison with symbols replaced."""
        return Comparison(self.lhs.substitute(values), self.sign, self.rhs.substitute(values))

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols of both sides."""
        return self.lhs.symbols | self.rhs.symbols

    @property
    def condition(self) -> Condition:
        """What a prover takes."""
        a, b = self.lhs, self.rhs
        return (a == b, a != b, a < b, a <= b, a > b, a >= b)[self.sign]

    def holds(self, facts: Facts) -> bool:
        """Whether it is certain."""
        return facts.can_prove(self.condition)

    def key(self) -> tuple[int, SymExpr]:
        """Return what two comparisons that say the same have in common."""
        gap = self.rhs - self.lhs
        return (self.sign, gap) if self.sign in (0, 1, 2, 3) else (self.sign - 2, -gap)


def assume(facts: Facts, conditions: "Iterable[Comparison | ir.Value]") -> None:
    """Note what conditions say."""
    for each in conditions:
        if isinstance(each, Comparison):
            facts.assume(each.condition)
