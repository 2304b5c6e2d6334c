"""Comparisons of symbolic integers: conditions that a prover decides."""

from typing import Any

from relax_mlir.dialects.symbolic.atoms import Expression
from relax_mlir.errors import ExprTypeError

_OPPOSITE = {"==": "!=", "!=": "=="}


class Condition:
    """A comparison, `==`, `!=`, `<` or `<=`, of two symbolic integers. Immutable.

    As a bool, an equality says whether both sides have the same normal form, an order what holds
    whatever the symbols are; an order that depends on them has no truth value.
    """

    __slots__ = ("kind", "lhs", "rhs", "truth")

    kind: str
    lhs: Expression
    rhs: Expression
    truth: bool | None

    def __init__(self, kind: str, lhs: Expression, rhs: Expression, truth: bool | None) -> None:
        self.kind, self.lhs, self.rhs, self.truth = kind, lhs, rhs, truth

    @staticmethod
    def ordered(kind: str, lhs: Expression, rhs: Expression) -> "Condition":
        """Return `lhs < rhs` or `lhs <= rhs`, decided where that needs nothing but the two."""
        gap = rhs - lhs if kind == "<=" else rhs - lhs - 1
        low, high = gap.lower_bound(), gap.upper_bound()
        truth = None
        if low is not None and low >= 0:
            truth = True
        elif high is not None and high < 0:
            truth = False
        return Condition(kind, lhs, rhs, truth)

    def __bool__(self) -> bool:
        """Return whether it holds.

        Raises:
            TypeError: that depends on the symbols.
        """
        if self.truth is None:
            raise ExprTypeError(
                f"whether {self} holds depends on its symbols; ask "
                "relax_mlir.arith.Analyzer().can_prove(...), which is False for 'not proved'; in "
                "an expression join conditions by tir.all"
            )
        return self.truth

    def __invert__(self) -> "Condition":
        """Return the opposite condition."""
        if self.kind in _OPPOSITE:
            return Condition(_OPPOSITE[self.kind], self.lhs, self.rhs, not self.truth)
        return Condition.ordered("<" if self.kind == "<=" else "<=", self.rhs, self.lhs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool):
            return self.truth is other
        return isinstance(other, Condition) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.kind, str(self.lhs), str(self.rhs)

    def __repr__(self) -> str:
        return f"{self.lhs} {self.kind} {self.rhs}"
