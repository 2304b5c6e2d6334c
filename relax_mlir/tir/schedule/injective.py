"""Which variables a set of expressions tells apart: the heart of most legality checks.

`i * 4 + j` with `0 <= j < 4` has another value for every `i` and every `j`; so have `f // 4` and
`f % 4` together for every `f`.
"""

from collections.abc import Iterable

from relax_mlir.dialects.relax.prover import Facts
from relax_mlir.dialects.relax.symbolic import SymExpr


def determined(exprs: Iterable[SymExpr], facts: Facts) -> set[SymExpr]:
    """Return what is known wherever the values of expressions are: parts of sums, variables.

    Args:
        exprs: the expressions.
        facts: the ranges of variables.
    """
    known: set[SymExpr] = set()
    pending = list(exprs)
    while pending:
        expr = pending.pop()
        if expr in known:
            continue
        known.add(expr)
        pending += _parts(expr, facts)
        pending += _joined(known)
    return known


def determined_names(exprs: Iterable[SymExpr], facts: Facts) -> set[str]:
    """Return the variables that the values of expressions tell."""
    return {expr.name for expr in determined(exprs, facts) if expr.name is not None}


def _parts(expr: SymExpr, facts: Facts) -> list[SymExpr]:
    """Return the digits of a number in a mixed radix, when the expression is one."""
    digits = [(part, c) for part, c in digits_of(expr) if part.symbols]
    if len(digits) == 1:
        return [digits[0][0]]
    found = []
    for part, scale in digits:
        # What is less than the scale, and what is a multiple of a larger one.
        finer = [(p, c) for p, c in digits if abs(c) < abs(scale)]
        coarser = [(p, c) for p, c in digits if p is not part and abs(c) >= abs(scale)]
        low = high = 0
        for p, c in finer:
            least, most = facts.bounds(p * c)
            if least is None or most is None:
                low = high = None
                break
            low, high = low + least, high + most
        if low is None or high is None or high - low >= abs(scale):
            continue
        if not coarser:
            found.append(part)
            continue
        step = min(abs(c) for _, c in coarser)
        least, most = facts.bounds(part)
        if step % abs(scale) or least is None or most is None:
            continue
        if all(c % step == 0 for _, c in coarser) and (most - least) < step // abs(scale):
            found.append(part)
    return found + _symbolic_parts(expr, facts)


def _symbolic_parts(expr: SymExpr, facts: Facts) -> list[SymExpr]:
    """Return `a` and `b` of `a * n + b` with `0 <= b < n`."""
    found = []
    for part, coefficient in expr.split():
        names = sorted(part.symbols)
        if len(names) < 2 or coefficient != 1:
            continue
        for name in names:
            scale = SymExpr.var(name)
            if name.startswith(("index ", "value ")) or not _divides(part, scale):
                continue
            whole = expr // scale
            rest = expr - whole * scale
            coarse = sum((p * c for p, c in expr.split() if _divides(p, scale)), SymExpr.const(0))
            fine = expr - coarse
            if facts.can_prove(fine >= 0) and facts.can_prove(fine < scale):
                found += [coarse // scale, fine]
            del rest
    return found


def _divides(part: SymExpr, scale: SymExpr) -> bool:
    return bool(part.symbols) and part % scale == 0


def digits_of(expr: SymExpr) -> list[tuple[SymExpr, int]]:
    """Return summands and coefficients, with `a - a // k * k` as the one digit `a % k`."""
    found: list[tuple[SymExpr, int]] = []
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
                found.append((candidate, count))
                rest = without
                break
    return found + rest.split()


def _scaled(lhs: SymExpr, part: SymExpr, rest: SymExpr) -> list[tuple[SymExpr, int]]:
    """Return `a // d % k` as candidates, where `part` is `a // (d * k)`."""
    by = part.atom.parts[1].value if part.atom is not None else None
    found = []
    for other, _ in rest.split():
        atom = other.atom
        if atom is None or atom.kind != "floordiv" or atom.parts[0] != lhs or other == part:
            continue
        fine = atom.parts[1].value
        if by is not None and fine is not None and by % fine == 0:
            found.append((other - part * (by // fine), by // fine))
    return found


def _joined(known: set[SymExpr]) -> list[SymExpr]:
    """Return each `a` of which both `a // k` and `a % k` are known."""
    found = []
    for expr in known:
        atom = expr.atom
        if atom is None or atom.kind != "floordiv":
            continue
        lhs, rhs = atom.parts
        if lhs in known:
            continue
        if lhs - expr * rhs in known:
            found.append(lhs)
        for other in known:
            # a // k and (a // d) % (k / d) give a // d.
            own = [part for part, _ in other.split() if part.atom is not None]
            for part in own:
                inner = part.atom
                if inner is None or inner.kind != "floordiv" or inner.parts[0] != lhs:
                    continue
                if part not in known and (other - part) % expr == 0:
                    found.append(part)
    return found
