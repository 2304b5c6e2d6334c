"""The region of a buffer that is accessed over the ranges of some variables."""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.view.simplify import simplify
from relax_mlir.tir.view.sums import factors


@dataclass(frozen=True)
class Range:
    """Integers from `low` to `high`, itself included.

    Attributes:
        low: the least.
        high: the greatest.
    """

    low: SymExpr
    high: SymExpr

    @property
    def extent(self) -> SymExpr:
        """How many integers there are."""
        return self.high - self.low + 1


def range_of(expr: SymExpr, variables: Sequence[tuple[str, Range]], facts: Facts) -> Range | None:
    """Return the range of an expression while variables take all values of theirs.

    Args:
        expr: the expression.
        variables: names and ranges; a range may depend on variables after it in the list.
        facts: what is known of what stays.

    Returns:
        The range, None where it is not found.
    """
    low: SymExpr | None = expr
    high: SymExpr | None = expr
    for name, own in variables:
        if low is None or high is None:
            return None
        low, high = _end(low, name, own, facts, False), _end(high, name, own, facts, True)
    if low is None or high is None:
        return None
    return Range(simplify(low, facts), simplify(high, facts))


def _end(expr: SymExpr, name: str, own: Range, facts: Facts, upper: bool) -> SymExpr | None:
    """Return the greatest or the least value of an expression over one variable."""
    if name not in expr.symbols:
        return expr
    joined = _joined_end(expr, name, own, facts, upper)
    if joined is not None:
        return joined
    total = SymExpr.const(0)
    for part, coefficient in expr.split():
        if name not in part.symbols:
            total = total + part * coefficient
            continue
        rising = (coefficient > 0) == upper
        value = SymExpr.const(abs(coefficient) // coefficient * abs(coefficient))
        involved = 0
        for factor in factors(part):
            if name not in factor.symbols:
                if not facts.can_prove(factor.expr() >= 0):
                    return None
                value = value * factor.expr()
                continue
            involved += 1
            end = _factor_end(factor.kind, factor.parts, name, own, facts, rising)
            if end is None or involved > 1:
                return None
            value = value * end
        total = total + value
    return total


def _factor_end(
    kind: str, parts: tuple[SymExpr, ...], name: str, own: Range, facts: Facts, upper: bool
) -> SymExpr | None:
    if kind == "symbol":
        return own.high if upper else own.low
    if kind in ("floordiv", "ceildiv"):
        lhs, rhs = parts
        if name in rhs.symbols or not facts.can_prove(rhs > 0):
            return None
        end = _end(lhs, name, own, facts, upper)
        if end is None:
            return None
        return end // rhs if kind == "floordiv" else end.ceildiv(rhs)
    if kind in ("min", "max"):
        ends = [_end(part, name, own, facts, upper) for part in parts]
        known = [end for end in ends if end is not None]
        if len(known) != len(ends):
            return None
        first, *rest = known
        return first.max(*rest) if kind == "max" else first.min(*rest)
    return None


def _joined_end(expr: SymExpr, name: str, own: Range, facts: Facts, upper: bool) -> SymExpr | None:
    """Return an end of `a - a // k * k`, a remainder, which lies between 0 and `k - 1`.

    `a // d % k` is one too, `a // d - a // (d * k) * k`.
    """
    for part, coefficient in expr.split():
        atom = part.atom
        if atom is None or atom.kind != "floordiv" or name not in part.symbols:
            continue
        lhs, rhs = _finer(expr, part, *atom.parts)
        remainder = lhs - part * rhs
        scale = rhs.value
        if scale is None or -coefficient % scale:
            continue
        count = -coefficient // scale
        rest = expr - remainder * count
        if name in rest.symbols:
            continue
        # All in one period: no wrap-around.
        ends = [_end(lhs, name, own, facts, side) for side in (False, True)]
        if ends[0] is not None and ends[1] is not None:
            low, high = ends
            if facts.can_prove((high // rhs) == (low // rhs)):
                end = low if (count < 0) == upper else high
                return rest + (end - end // rhs * rhs) * count
        most = rhs - 1
        return rest + (most if (count > 0) == upper else SymExpr.const(0)) * count
    return None


def _finer(
    expr: SymExpr, part: SymExpr, lhs: SymExpr, rhs: SymExpr
) -> tuple[SymExpr, SymExpr]:  # fmt: skip
    """Return `a // d` and `k` of a quotient `a // (d * k)` whose expression holds `a // d` too."""
    for other, _ in expr.split():
        atom = other.atom
        if other == part or atom is None or atom.kind != "floordiv" or atom.parts[0] != lhs:
            continue
        whole, fine = rhs.value, atom.parts[1].value
        if whole is not None and fine and whole % fine == 0:
            return other, SymExpr.const(whole // fine)
    return lhs, rhs


def covers(outer: Sequence[Range], inner: Sequence[Range], facts: Facts) -> bool:
    """Whether one region of a buffer is certain to contain another one."""
    return all(
        facts.can_prove(a.low <= b.low) and facts.can_prove(a.high >= b.high)
        for a, b in zip(outer, inner, strict=True)
    )
