"""Atoms of symbolic integers: symbols, opaque quotients, minima and maxima.

The parts of an atom are expressions (`SymExpr`), used here only through their methods.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from relax_mlir.dialects.bindings import ir

# What is known of a symbol: the least and the greatest value, None where there is none.
Bounds = tuple[int | None, int | None]
Known = Mapping[str, Bounds]
NOTHING: Known = {}
# How the name of a symbol ends that stands for an integer a program computes or counts, not for a
# size. It is part of the name because whoever meets the symbol must see that: rules and folding
# know expressions and nothing of the function around them.
SIGNED = "__signed"


def signed(name: str) -> str:
    """Return the name of the symbol for an integer variable that may be negative."""
    return name if name.endswith(SIGNED) else name + SIGNED


def variable(symbol: str) -> str:
    """Return the name of the variable that a symbol is written as."""
    return symbol.removesuffix(SIGNED)


# What the parts of an atom are, `SymExpr`: the class stands above its atoms.
Expression: TypeAlias = Any


class Symbol:
    """A symbol: a size, so not negative, unless its name says that it may be (`signed`)."""

    __slots__ = ("key", "leaves", "name", "symbols")

    kind = "symbol"
    parts: tuple[Expression, ...] = ()

    name: str
    key: str
    symbols: frozenset[str]
    leaves: frozenset[str]

    def __init__(self, name: str) -> None:
        self.name = self.key = name
        self.symbols = self.leaves = frozenset({name})

    def __str__(self) -> str:
        return self.name

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the value of the symbol; KeyError when it has none."""
        return values[self.name]

    def bounds(self, known: Known = NOTHING) -> Bounds:
        """Return the least and the greatest value."""
        low, high = known.get(self.name, (None, None))
        if self.name.endswith(SIGNED):
            return low, high
        return (0 if low is None else max(low, 0)), high

    def to_affine(self, names: Mapping[str, int]) -> ir.AffineExpr:
        """Return the MLIR symbol that `names` gives it."""
        return ir.AffineSymbolExpr.get(names[self.name])


class Quotient:
    """A quotient that does not simplify; a remainder only while one is written out."""

    __slots__ = ("key", "kind", "leaves", "parts", "symbols")

    kind: str
    parts: tuple[Expression, Expression]
    symbols: frozenset[str]
    leaves: frozenset[str]

    def __init__(self, kind: str, lhs: Expression, rhs: Expression) -> None:
        self.kind, self.parts = kind, (lhs, rhs)
        self.symbols = frozenset(lhs.symbols).union(rhs.symbols)
        self.leaves = frozenset(lhs.leaves).union(rhs.leaves)
        self.key: str = f"{kind}({lhs}, {rhs})"

    @property
    def lhs(self) -> Expression:
        """What is divided."""
        return self.parts[0]

    @property
    def rhs(self) -> Expression:
        """What it is divided by."""
        return self.parts[1]

    def __str__(self) -> str:
        if self.kind == "ceildiv":
            return f"T.ceildiv({self.lhs}, {self.rhs})"
        left, right = (side.as_operand() for side in self.parts)
        return f"({left} {'//' if self.kind == 'floordiv' else '%'} {right})"

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the quotient; ZeroDivisionError when the divisor is zero."""
        lhs, rhs = (side.evaluate(values) for side in self.parts)
        return lhs // rhs if self.kind == "floordiv" else -(-lhs // rhs)

    def bounds(self, known: Known = NOTHING) -> Bounds:
        """Return bounds for non-negative symbols and positive divisors."""
        divisor = self.rhs.value
        if self.kind == "mod":
            return 0, None if divisor is None else divisor - 1
        low = self.lhs.lower_bound(known)
        if divisor is None:
            return (0 if low is not None and low >= 0 else None), None
        high = (-self.lhs).lower_bound(known)
        return (
            None if low is None else low // divisor,
            None if high is None else -high // divisor,
        )

    def to_affine(self, names: Mapping[str, int]) -> ir.AffineExpr:
        """Return the MLIR quotient."""
        build = {
            "floordiv": ir.AffineExpr.get_floor_div,
            "ceildiv": ir.AffineExpr.get_ceil_div,
            "mod": ir.AffineExpr.get_mod,
        }[self.kind]
        return build(self.lhs.to_affine(names), self.rhs.to_affine(names))


class Extremum:
    """The largest or smallest of several expressions, none of which is certain to be it.

    No affine expression says that. In MLIR it is a symbol of its own, whose name is its text:
    `#relax.dims<["T.max(m, n)"], affine_map<()[s0] -> (s0)>>`.
    """

    __slots__ = ("key", "kind", "leaves", "parts", "symbols")

    kind: str
    parts: tuple[Expression, ...]
    symbols: frozenset[str]

    def __init__(self, kind: str, parts: tuple[Expression, ...]) -> None:
        self.kind, self.parts = kind, parts
        self.symbols = frozenset().union(*(part.symbols for part in parts))
        text = str(parts[0])
        for part in parts[1:]:
            text = f"T.{kind}({text}, {part})"
        self.key: str = text
        self.leaves: frozenset[str] = frozenset({text})

    def __str__(self) -> str:
        return self.key

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the extremum of the values of the parts."""
        result = [part.evaluate(values) for part in self.parts]
        return max(result) if self.kind == "max" else min(result)

    def bounds(self, known: Known = NOTHING) -> Bounds:
        """Return bounds: of a maximum, any low end holds, and all high ends together."""
        lows = [part.lower_bound(known) for part in self.parts]
        highs = [part.upper_bound(known) for part in self.parts]
        if self.kind == "max":
            return max(_known(lows), default=None), None if None in highs else max(_known(highs))
        return None if None in lows else min(_known(lows)), min(_known(highs), default=None)

    def to_affine(self, names: Mapping[str, int]) -> ir.AffineExpr:
        """Return the MLIR symbol that `names` gives its text."""
        return ir.AffineSymbolExpr.get(names[self.key])


def _known(ends: list[int | None]) -> list[int]:
    return [end for end in ends if end is not None]


Atom = Symbol | Quotient | Extremum
