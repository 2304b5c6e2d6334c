"""A small prover over symbolic integers: what holds for every value of the symbols.

Symbols are sizes, so they are not negative, but for those whose name says that they may be. "No"
only ever means "not proved".
"""

import itertools
from collections.abc import Iterator, Mapping

from relax_mlir.dialects.symbolic.atoms import SIGNED, Bounds, Extremum, Quotient, signed
from relax_mlir.dialects.symbolic.conditions import Condition
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr

# How many facts one proof may combine: each is tried with each.
_DEPTH = 2
# Every proof looks at all facts, so a program with very many of them has most forgotten.
_MAX_FACTS = 64
# Of extrema, quotients and facts a proof may try every choice with every other: after so many
# expressions it gives up.
_MAX_STEPS = 100


class Facts:
    """What is known about symbols beyond that none is negative: bounds, equalities, orders.

    Facts only ever grow, up to a number. What contradicts itself proves everything, as it never
    happens.
    """

    def __init__(self) -> None:
        self._bounds: dict[str, Bounds] = {}
        self._equal: dict[str, SymExpr] = {}
        self._not_negative: list[SymExpr] = []
        # Symbols made up here, and what they stand for.
        self._invented: dict[str, SymExpr] = {}

    def __bool__(self) -> bool:
        return bool(self._bounds or self._equal or self._not_negative)

    def copy(self) -> "Facts":
        """Return the same facts, to be added to independently."""
        other = Facts()
        other._bounds = dict(self._bounds)
        other._equal = dict(self._equal)
        other._not_negative = list(self._not_negative)
        other._invented = dict(self._invented)
        return other

    def bound(self, name: str, lower: int | None = None, upper: int | None = None) -> None:
        """Note the least and the greatest value of a symbol."""
        low, high = self._bounds.get(name, (None, None))
        lower = low if lower is None else lower if low is None else max(low, lower)
        upper = high if upper is None else upper if high is None else min(high, upper)
        self._bounds[name] = (lower, upper)
        if name in self._equal:
            same = self._equal[name]
            if lower is not None:
                self._order(same - lower)
            if upper is not None:
                self._order(upper - same)

    def assume(self, condition: Condition | bool) -> None:
        """Note that a condition holds."""
        if isinstance(condition, bool) or condition.kind == "!=":
            return
        if len(self._equal) + len(self._not_negative) >= _MAX_FACTS:
            return
        gap = self._rewrite(condition.rhs - condition.lhs)
        if condition.kind == "==":
            self._equate(gap)
        else:
            self._order(gap - 1 if condition.kind == "<" else gap)

    def can_prove(self, condition: Condition | bool) -> bool:
        """Whether a condition holds whatever the symbols are, given the facts."""
        if isinstance(condition, bool):
            return condition
        gap = self._rewrite(condition.rhs - condition.lhs)
        if condition.kind == "==":
            return bool(gap == 0) or (self._holds(gap) and self._holds(-gap))
        if condition.kind == "!=":
            return self._holds(gap - 1) or self._holds(-gap - 1)
        return self._holds(gap - 1 if condition.kind == "<" else gap)

    def simplify(self, expr: IntLike) -> SymExpr:
        """Return an expression that is equal, given the facts, with as little in it as is found."""
        return self._rewrite(SymExpr.of(expr)).substitute(self._invented)

    def is_divisible(self, expr: IntLike, divisor: IntLike) -> bool:
        """Whether a division never leaves a remainder; not so for a divisor that is zero."""
        try:
            return bool(self._rewrite(self._rewrite(SymExpr.of(expr)) % divisor) == 0)
        except ZeroDivisionError:
            return False

    def _rewrite(self, expr: SymExpr) -> SymExpr:
        return expr.fold(self._symbol, SymExpr.const, self._combine) if self else expr

    def bounds(self, expr: IntLike) -> Bounds:
        """Return the least and the greatest value of an expression, None where none is known."""
        expr = self._rewrite(SymExpr.of(expr))
        return expr.lower_bound(self._bounds), expr.upper_bound(self._bounds)

    def _symbol(self, name: str) -> SymExpr:
        low, high = self._bounds.get(name, (None, None))
        if low is not None and low == high:
            return SymExpr.const(low)
        return self._equal.get(name) or SymExpr.var(name)

    def _combine(self, kind: str, lhs: SymExpr, rhs: SymExpr) -> SymExpr:
        if kind in ("max", "min"):
            larger, smaller = (lhs, rhs) if kind == "max" else (rhs, lhs)
            if self._holds(larger - smaller):
                return lhs
            if self._holds(smaller - larger):
                return rhs
            return lhs.max(rhs) if kind == "max" else lhs.min(rhs)
        if kind == "ceildiv":
            result = lhs.ceildiv(rhs)
        else:
            result = lhs // rhs if kind == "floordiv" else lhs % rhs
        low, high = result.lower_bound(self._bounds), result.upper_bound(self._bounds)
        return SymExpr.const(low) if low is not None and low == high else result

    def _equate(self, zero: SymExpr) -> None:
        """Note that an expression is zero: one of its symbols is the rest, where that solves."""
        for part, coefficient in zero.split():
            divided = part.remainder_of()
            if divided is not None and part * coefficient == zero and divided[1].is_const:
                self._divide(*divided)
                return
        whole = zero.remainder_of() or (-zero).remainder_of()
        if whole is not None and whole[1].is_const:
            self._divide(*whole)
            return
        # The longest name goes: of `n` and `n_1`, the second is the one that was made up.
        for part, coefficient in sorted(zero.split(), key=lambda item: -len(item[0].name or "")):
            name = part.name
            rest = part * coefficient - zero
            if name and abs(coefficient) == 1 and name not in rest.symbols:
                self._replace(name, rest * coefficient)
                return
        for part, coefficient in zero.split():
            name = part.name
            rest = part * coefficient - zero
            if name and name not in rest.symbols and rest % coefficient == 0:
                self._replace(name, rest // coefficient)
                return
        self._not_negative += [zero, -zero]

    def _divide(self, expr: SymExpr, divisor: SymExpr) -> None:
        """Note that an expression has no remainder: its symbol is a multiple of the divisor."""
        if expr.name is not None and divisor.value is not None:
            # No program has a symbol of such a name.
            name = f"{expr.name} over {divisor}"
            part = SymExpr.var(signed(name) if expr.name.endswith(SIGNED) else name)
            self._invented[str(part)] = (expr // divisor).substitute(self._invented)
            low, high = self._bounds.get(expr.name, (None, None))
            self.bound(
                str(part),
                None if low is None else -(-low // divisor.value),
                None if high is None else high // divisor.value,
            )
            self._replace(expr.name, part * divisor)

    def _replace(self, name: str, value: SymExpr) -> None:
        self._equal = {key: old.substitute({name: value}) for key, old in self._equal.items()}
        self._not_negative = [each.substitute({name: value}) for each in self._not_negative]
        self._equal[name] = value
        low, high = self._bounds.get(name, (None, None))
        if low is not None or not name.endswith(SIGNED):
            self._order(value - (low or 0))
        if high is not None:
            self._order(high - value)

    def _order(self, not_negative: SymExpr) -> None:
        parts = not_negative.split()
        names = [(part.name or "", coefficient) for part, coefficient in parts if part.symbols]
        if len(names) == 1 and names[0][0]:
            # One symbol alone: a bound.
            (name, factor), rest = names[0], sum(c for p, c in parts if not p.symbols)
            low, high = self._bounds.get(name, (None, None))
            if factor > 0:
                least = -(rest // factor)
                self._bounds[name] = (least if low is None else max(low, least), high)
            else:
                most = rest // -factor
                self._bounds[name] = (low, most if high is None else min(high, most))
        elif names:
            self._not_negative.append(not_negative)

    def _holds(self, expr: SymExpr) -> bool:
        """Whether an expression is never negative."""
        return self._prove(expr, _DEPTH, itertools.count())

    def _prove(self, expr: SymExpr, depth: int, steps: Iterator[int]) -> bool:
        if next(steps) >= _MAX_STEPS:
            return False
        low = expr.lower_bound(self._bounds)
        if low is not None and low >= 0:
            return True
        parts = expr.split()
        for part, coefficient in parts:
            atom = part.atom
            if isinstance(atom, Extremum):
                rest = expr - part * coefficient
                result = (
                    self._prove(rest + each * coefficient, depth, steps) for each in atom.parts
                )
                return any(result) if (atom.kind == "max") == (coefficient > 0) else all(result)
            by = atom.rhs.value if isinstance(atom, Quotient) and atom.kind == "floordiv" else None
            if isinstance(atom, Quotient) and by is not None and by > 0:
                # d * (a // d) is at most a and at least a - d + 1.
                end = atom.lhs if coefficient < 0 else atom.lhs - (by - 1)
                scaled = (expr - part * coefficient) * by + end * coefficient
                if self._prove(scaled, depth, steps):
                    return True
        common = frozenset.intersection(*(part.symbols for part, _ in parts)) if parts else set()
        for name in sorted(common):
            if name.endswith(SIGNED):
                continue
            factor = SymExpr.var(name)
            if expr % factor == 0 and self._prove(expr // factor, depth, steps):
                return True
        if not depth:
            return False
        coefficients = {str(part): coefficient for part, coefficient in parts}
        for fact in self._not_negative:
            for part, coefficient in fact.split():
                times, left = divmod(coefficients.get(str(part), 0), coefficient)
                usable = part.symbols and times > 0 and not left
                if usable and self._prove(expr - fact * times, depth - 1, steps):
                    return True
        return False


NO_FACTS = Facts()


def can_prove_equal(lhs: IntLike, rhs: IntLike, facts: Facts = NO_FACTS) -> bool:
    """Whether both are always the same integer."""
    return facts.can_prove(SymExpr.of(lhs) == SymExpr.of(rhs))


def can_prove_different(lhs: IntLike, rhs: IntLike, facts: Facts = NO_FACTS) -> bool:
    """Whether the two are never the same integer: one is always the larger."""
    return facts.can_prove(SymExpr.of(lhs) != SymExpr.of(rhs))


def can_prove_less_equal(lhs: IntLike, rhs: IntLike, facts: Facts = NO_FACTS) -> bool:
    """Whether the first is never above the second."""
    return facts.can_prove(SymExpr.of(lhs) <= rhs)


def can_prove_divisible(expr: IntLike, divisor: IntLike, facts: Facts = NO_FACTS) -> bool:
    """Whether the remainder is always zero."""
    return facts.is_divisible(expr, divisor)


def lower_bound(expr: IntLike, facts: Facts = NO_FACTS) -> int | None:
    """Return an integer that the expression is never below, None when none is known."""
    return facts.bounds(expr)[0]


def upper_bound(expr: IntLike, facts: Facts = NO_FACTS) -> int | None:
    """Return an integer that the expression is never above, None when none is known."""
    return facts.bounds(expr)[1]


def assume_bounds(facts: Facts, bounds: Mapping[str, Bounds]) -> None:
    """Note the least and greatest values of symbols."""
    for name, (low, high) in bounds.items():
        facts.bound(name, low, high)
