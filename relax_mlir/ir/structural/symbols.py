"""Pairing of the shape symbols of two programs."""

from itertools import islice, permutations
from typing import Any, NamedTuple

from relax_mlir.dialects.symbolic.expr import SymExpr

# How many ways of pairing symbols that nothing binds are tried.
_TRIES = 5040


class Postponed(NamedTuple):
    """Two expressions over symbols that were not all known where they stood, and where that was."""

    left: SymExpr
    right: SymExpr
    where: Any


class Renaming:
    """A one-to-one renaming of symbols, found while two functions are compared.

    Two plain symbols that stand in the same place are the same symbol from then on. Other
    expressions must be equal under what is known; where that is not enough yet they wait for the
    end of their scope.

    Args:
        fixed: symbols are only ever themselves.
    """

    def __init__(self, fixed: bool = False) -> None:
        self.to_right: dict[str, str] = {}
        self._to_left: dict[str, str] = {}
        self._fixed = fixed
        self._order: list[str] = []
        self._postponed: list[Postponed] = []
        self._marks: list[tuple[int, int]] = []

    def match(self, left: SymExpr, right: SymExpr, where: Any = None) -> bool:
        """Whether the expressions can be the same, given what was matched before."""
        mine, theirs = left.name, right.name
        if mine is not None and theirs is not None:
            known = self.to_right.get(mine)
            if known is not None:
                return known == theirs
            if theirs in self._to_left or (self._fixed and mine != theirs):
                return False
            self._bind(mine, theirs)
            return True
        if (mine is None) != (theirs is None) or left.is_const or right.is_const:
            return left == right
        if self._fixed:
            return left == right
        if left.symbols <= self.to_right.keys():
            return self._equal(left, right)
        self._postponed.append(Postponed(left, right, where))
        return True

    def open(self) -> None:
        """Begin a scope, whose symbols are forgotten at its end."""
        self._marks.append((len(self._order), len(self._postponed)))

    def close(self) -> tuple[bool, Postponed | None]:
        """End a scope.

        Returns:
            Whether symbols were forgotten, and what differs.
        """
        count, first = self._marks.pop()
        waiting = self._postponed[first:]
        del self._postponed[first:]
        wrong = self._settle(waiting)
        forgotten = self._order[count:]
        del self._order[count:]
        for name in forgotten:
            del self._to_left[self.to_right.pop(name)]
        return bool(forgotten), wrong

    def _bind(self, mine: str, theirs: str) -> None:
        self.to_right[mine] = theirs
        self._to_left[theirs] = mine
        self._order.append(mine)

    def _equal(self, left: SymExpr, right: SymExpr) -> bool:
        if _renamed(left, self.to_right) == right:
            return True
        # A normal form may depend on the order of names: look from the other side too.
        return right.symbols <= self._to_left.keys() and _renamed(right, self._to_left) == left

    def _settle(self, waiting: list[Postponed]) -> Postponed | None:
        """Return the first of the expressions that is different, all of them looked at together."""
        waiting = [each for each in waiting if not self._decided(each)]
        if not waiting:
            return None
        for each in waiting:
            if each.left.symbols <= self.to_right.keys():
                return each
        mine = sorted(set().union(*(p.left.symbols for p in waiting)) - self.to_right.keys())
        theirs = sorted(set().union(*(p.right.symbols for p in waiting)) - self._to_left.keys())
        if len(mine) != len(theirs):
            return waiting[0]
        best, wrong = -1, waiting[0]
        for order in islice(permutations(theirs), _TRIES):
            renaming = {**self.to_right, **dict(zip(mine, order, strict=True))}
            good = 0
            for each in waiting:
                if _renamed(each.left, renaming) != each.right:
                    break
                good += 1
            else:
                for pair in zip(mine, order, strict=True):
                    self._bind(*pair)
                return None
            if good > best:
                best, wrong = good, waiting[good]
        return wrong

    def _decided(self, each: Postponed) -> bool:
        return each.left.symbols <= self.to_right.keys() and self._equal(each.left, each.right)


def _renamed(expr: SymExpr, names: dict[str, str]) -> SymExpr:
    return expr.substitute({name: SymExpr.var(names[name]) for name in expr.symbols})
