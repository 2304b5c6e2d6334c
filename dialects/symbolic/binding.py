"""The symbols that a value's dimensions bind: plain ones and solvable ones.

`n` alone is bound by its dimension. `n * 2 + m` binds `n` where `m` has a value: what is left after
`m` is divided by 2, without a remainder. Everything else is checked once its symbols have values.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.symbolic.expr import SymExpr


@dataclass(frozen=True)
class Solution:
    """How a dimension gives a symbol its value: `symbol = (dimension - rest) / factor`.

    Attributes:
        index: position of the dimension among those given.
        symbol: the name.
        factor: the symbol's coefficient, not zero.
        rest: the other summands, over symbols that have values before.
    """

    index: int
    symbol: str
    factor: int
    rest: SymExpr

    @property
    def is_plain(self) -> bool:
        """Whether the dimension is the symbol."""
        return self.factor == 1 and not self.rest.symbols and self.rest.value == 0


def solve(index: int, dim: SymExpr, known: Container[str]) -> Solution | None:
    """Return how a dimension binds the only symbol in it that has no value, None if it does not."""
    missing = [name for name in dim.symbols if name not in known]
    if len(missing) != 1:
        return None
    (name,) = missing
    factor, rest = 0, SymExpr.const(0)
    for term, coefficient in dim.split():
        if term.name == name:
            factor = coefficient
        elif name in term.symbols:
            return None
        else:
            rest = rest + term * coefficient
    return Solution(index, name, factor, rest) if factor else None


def solutions(dims: Sequence[SymExpr], known: Container[str] = ()) -> list[Solution]:
    """Return what binds the symbols of dimensions, in an order in which each can be computed.

    Plain dimensions come first, in order; a symbol is bound once.

    Args:
        dims: the dimensions of all values that come together, such as a function's parameters.
        known: symbols that have values already.
    """
    # What is known may be much, and is asked about little: it is not copied.
    bound = _Either(set(), known)
    result: list[Solution] = []
    for index, dim in enumerate(dims):
        if dim.name and dim.name not in bound:
            bound.new.add(dim.name)
            result.append(Solution(index, dim.name, 1, SymExpr.const(0)))
    progress = True
    while progress:
        progress = False
        for index, dim in enumerate(dims):
            solution = solve(index, dim, bound)
            if solution is not None:
                bound.new.add(solution.symbol)
                result.append(solution)
                progress = True
    return result


@dataclass(frozen=True)
class _Either:
    new: set[str]
    old: Container[str]

    def __contains__(self, name: str) -> bool:
        return name in self.new or name in self.old


def bound_symbols(dims: Iterable[SymExpr], known: Container[str] = ()) -> set[str]:
    """Return the symbols that dimensions bind when those of `known` have values already."""
    return {solution.symbol for solution in solutions(list(dims), known)}
