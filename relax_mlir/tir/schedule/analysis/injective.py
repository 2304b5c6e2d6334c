"""Injectivity of index expressions, on which most legality checks rest.

`i * 4 + j` with `0 <= j < 4` is injective in `i` and `j`; the pair `f // 4`, `f % 4` is in `f`.
"""

from collections.abc import Iterable

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.tir.view.sums import factors

# So many expressions are looked at; what is not found by then counts as not known.
_MAX_TERMS = 48


def determined(
    exprs: Iterable[SymExpr], facts: Facts, fixed: frozenset[str] = frozenset()
) -> set[SymExpr]:
    """Return what is known wherever the values of expressions are: parts of sums, variables.

    Args:
        exprs: the expressions.
        facts: the ranges of variables.
        fixed: the variables that are known anyway.
    """
    known: set[SymExpr] = set()
    pending = list(exprs)
    while pending and len(known) < _MAX_TERMS:
        expr = pending.pop()
        if expr in known or expr.is_const:
            continue
        pending += _parts(expr, facts, fixed)
        pending += _joined(expr, known)
        known.add(expr)
    return known


def determined_names(
    exprs: Iterable[SymExpr], facts: Facts, fixed: frozenset[str] = frozenset()
) -> set[str]:
    """Return the variables that the values of expressions determine."""
    return {expr.name for expr in determined(exprs, facts, fixed) if expr.name is not None}


def _parts(expr: SymExpr, facts: Facts, fixed: frozenset[str]) -> list[SymExpr]:
    """Return the digits of a number in a mixed radix, as far as the expression is one."""
    digits = [(part, c) for part, c in digits_of(expr) if not part.symbols <= fixed]
    # What has one value only, by its loop or by the block's condition, is known and hides nothing.
    result = [part for part, _ in digits if _span(part, facts) == 0]
    digits = [(part, c) for part, c in digits if part not in result]
    if len(digits) == 1:
        return [*result, digits[0][0]]
    for part, coefficient in digits:
        scale = abs(coefficient)
        finer = sum((p * c for p, c in digits if abs(c) < scale), SymExpr.const(0))
        coarser = [abs(c) for p, c in digits if p is not part and abs(c) >= scale]
        span = _span(finer, facts)
        if span is None or span >= scale:
            continue
        if coarser:
            step, own = min(coarser), _span(part, facts)
            multiples = all(c % step == 0 for c in coarser) and step % scale == 0
            if not multiples or own is None or own >= step // scale:
                continue
        result.append(part)
    return result + _symbolic_parts(expr, facts)


def _span(expr: SymExpr, facts: Facts) -> int | None:
    """Return by how much the values of an expression differ at most."""
    low, high = facts.bounds(expr)
    return None if low is None or high is None else high - low


def _symbolic_parts(expr: SymExpr, facts: Facts) -> list[SymExpr]:
    """Return `a` and `b` of `a * n + b` with `0 <= b < n`."""
    result = []
    scales: list[SymExpr] = []
    for part, _ in expr.split():
        own = [factor.expr() for factor in factors(part)]
        scales += [*own, *(part // each for each in own)] if len(own) > 1 else []
    for scale in dict.fromkeys(scales):
        coarse = sum((p * c for p, c in expr.split() if _divides(p, scale)), SymExpr.const(0))
        fine = expr - coarse
        if fine == 0:
            continue
        if facts.can_prove(fine >= 0) and facts.can_prove(fine < scale):
            result += [coarse // scale, fine]
    return result


def _divides(part: SymExpr, scale: SymExpr) -> bool:
    return bool(part.symbols) and part % scale == 0


def digits_of(expr: SymExpr) -> list[tuple[SymExpr, int]]:
    """Return summands and coefficients, with `a - a // k * k` as the one digit `a % k`."""
    result: list[tuple[SymExpr, int]] = []
    rest = expr
    for part, _ in expr.split():
        atom = part.atom
        if atom is None or atom.kind != "floordiv" or atom.parts[1].value is None:
            continue
        lhs, rhs = atom.parts
        remainder = lhs - part * rhs
        for candidate, scale in ((remainder, rhs.value), *_scaled(lhs, part, rest)):
            own = next((c for p, c in rest.split() if p == part), 0)
            count = -own // scale if scale else 0
            without = rest - candidate * count
            if count and len(without.split()) < len(rest.split()):
                result.append((candidate, count))
                rest = without
                break
    return result + rest.split()


def _scaled(lhs: SymExpr, part: SymExpr, rest: SymExpr) -> list[tuple[SymExpr, int]]:
    """Return `a // d % k` as candidates, where `part` is `a // (d * k)`."""
    by = part.atom.parts[1].value if part.atom is not None else None
    result = []
    for other, _ in rest.split():
        atom = other.atom
        if atom is None or atom.kind != "floordiv" or atom.parts[0] != lhs or other == part:
            continue
        fine = atom.parts[1].value
        if by is not None and fine is not None and by % fine == 0:
            result.append((other - part * (by // fine), by // fine))
    return result


def _joined(expr: SymExpr, known: Iterable[SymExpr]) -> list[SymExpr]:
    """Return what two known expressions give without a quotient that both have.

    `a // k` and `a % k`, which is `a - a // k * k`, give `a`.
    """
    result = []
    for other in known:
        for one, two in ((expr, other), (other, expr)):
            for part, coefficient in one.split():
                atom = part.atom
                if abs(coefficient) != 1 or atom is None or atom.kind != "floordiv":
                    continue
                for whole, scale in two.split():
                    if whole == part or (part.symbols <= whole.symbols and whole % part == 0):
                        result.append(two - one * (whole // part) * (scale * coefficient))
    return result
