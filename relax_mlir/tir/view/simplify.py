"""Simplification of index expressions by the ranges of variables."""

from relax_mlir.dialects.symbolic.atoms import Quotient
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts


def simplify(expr: SymExpr, facts: Facts) -> SymExpr:
    """Return an equal expression with the quotients gone that the ranges of variables decide."""

    def divide(kind: str, lhs: SymExpr, rhs: SymExpr) -> SymExpr:
        if kind in ("min", "max"):
            return facts.simplify(lhs.max(rhs) if kind == "max" else lhs.min(rhs))
        if kind == "ceildiv":
            return lhs.ceildiv(rhs)
        quotient = lhs // rhs if kind == "floordiv" else lhs % rhs
        return sum((_decided(part, facts) * count for part, count in quotient.split()),
                   SymExpr.const(0))  # fmt: skip

    return facts.simplify(expr.fold(SymExpr.var, SymExpr.const, divide))


def _decided(part: SymExpr, facts: Facts) -> SymExpr:
    """Return a product, without its quotients where these are known."""
    atom = part.atom
    if not isinstance(atom, Quotient) or atom.kind != "floordiv":
        return part
    lhs, rhs = atom.lhs, atom.rhs
    if facts.can_prove(lhs >= 0) and facts.can_prove(lhs < rhs):
        return SymExpr.const(0)
    inner = lhs.atom
    if isinstance(inner, Quotient) and inner.kind == "floordiv" and _positive(inner.rhs, facts):
        return _decided(inner.lhs // (inner.rhs * rhs), facts)
    # (4 * a + b) // 8 is a // 2 where b is at least 0 and less than 4.
    scales = sorted({abs(c) for _, c in lhs.split()}, reverse=True)
    for scale in scales:
        if scale < 2 or not all(c % scale == 0 for _, c in rhs.split()):
            continue
        coarse = sum((p * c for p, c in lhs.split() if c % scale == 0), SymExpr.const(0))
        fine = lhs - coarse
        if facts.can_prove(fine >= 0) and facts.can_prove(fine < scale):
            return _decided((coarse // scale) // (rhs // scale), facts)
    return part


def _positive(expr: SymExpr, facts: Facts) -> bool:
    low, _ = facts.bounds(expr)
    return low is not None and low > 0
