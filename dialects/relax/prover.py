"""A small prover over symbolic integers: what holds for every value of the symbols (R07).

Symbols are sizes, so they are not negative. "No" only ever means "not proved".
"""

from relax_mlir.dialects.relax.symbolic import IntLike, SymExpr


def can_prove_equal(lhs: IntLike, rhs: IntLike) -> bool:
    """Whether both are always the same integer; normal forms decide."""
    return SymExpr.of(lhs) == SymExpr.of(rhs)


def can_prove_different(lhs: IntLike, rhs: IntLike) -> bool:
    """Whether the two are never the same integer: one is always the larger."""
    difference = SymExpr.of(lhs) - rhs
    return can_prove_less_equal(1, difference) or can_prove_less_equal(difference, -1)


def can_prove_less_equal(lhs: IntLike, rhs: IntLike) -> bool:
    """Whether the first is never above the second."""
    low = lower_bound(SymExpr.of(rhs) - lhs)
    return low is not None and low >= 0


def can_prove_divisible(expr: IntLike, divisor: IntLike) -> bool:
    """Whether the remainder is always zero."""
    try:
        return SymExpr.of(expr) % divisor == 0
    except ZeroDivisionError:
        return False


def lower_bound(expr: IntLike) -> int | None:
    """Return an integer that the expression is never below, None when none is known."""
    return SymExpr.of(expr).lower_bound()


def upper_bound(expr: IntLike) -> int | None:
    """Return an integer that the expression is never above, None when none is known."""
    low = lower_bound(-SymExpr.of(expr))
    return None if low is None else -low
