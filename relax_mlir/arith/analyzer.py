"""`Analyzer`: asks what is certain about symbolic integers, with what is known of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from relax_mlir.dialects.symbolic.conditions import Condition
from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.symbolic.prover import Facts, can_prove_divisible
from relax_mlir.ir.range import Range
from relax_mlir.ir.single_function import single

# Divisors of sizes are looked for among the products of these, up to a bound.
_PRIMES = (2, 3, 5, 7, 11, 13)
_MAX_MODULUS = 1 << 20


class ConstIntBound(NamedTuple):
    """The least and the greatest value of an expression; None where there is none."""

    min_value: int | None
    max_value: int | None


class ModularSet(NamedTuple):
    """All values of an expression are `coeff * x + base` for some integer x; a constant has 0."""

    coeff: int
    base: int


class Analyzer:
    """A prover over symbolic integers. Symbols are sizes: never negative.

    `analyzer.can_prove(n * 4 == 4 * n)` needs nothing; `bind` and `assume` say what else is known
    that. "False" only ever means "not proved". An analyzer belongs to one thread.
    """

    def __init__(self) -> None:
        self._facts = Facts()

    @classmethod
    def of_function(cls, func: Any) -> "Analyzer":
        """Return an analyzer that knows the bounds a Relax function's attributes give.

        Args:
            func: the function, a view or its operation.
        """
        from relax_mlir.dialects.relax.facts import declared_facts

        analyzer = cls()
        analyzer._facts = declared_facts(single(func))
        return analyzer

    def bind(
        self,
        var: SymExpr | str,
        value: IntLike | range | Range | tuple[IntLike, IntLike] | None = None,
        *,
        lower: int | None = None,
        upper: int | None = None,
    ) -> None:
        """Say what a symbol is: an expression, or within which bounds it lies.

        Args:
            var: the symbol.
            value: an expression it is equal to, a `range` or `ir.Range` it lies in, or
                `(minimum, extent)`.
            lower: the least value.
            upper: the greatest value, itself included.

        Raises:
            TypeError: `var` is no symbol.
            ValueError: a range with a step.
        """
        name = var if isinstance(var, str) else getattr(SymExpr.of(var), "name", None)
        if name is None:
            raise TypeError(f"bind takes a symbol, got the expression {var}")
        symbol = SymExpr.var(name)
        if isinstance(value, Range):
            value = (value.min, value.extent)
        if isinstance(value, range):
            if value.step != 1:
                raise ValueError(f"a symbol takes every value of a range, got step {value.step}")
            lower, upper = value.start, value.stop - 1
        elif isinstance(value, tuple):
            start, extent = map(SymExpr.of, value)
            self.assume(symbol >= start)
            self.assume(symbol < start + extent)
        elif value is not None:
            self.assume(symbol == SymExpr.of(value))
        if lower is not None or upper is not None:
            self._facts.bound(name, lower, upper)

    def assume(self, condition: Condition | bool) -> None:
        """Say that a condition holds, such as `n % 4 == 0` or `n <= m`."""
        self._facts.assume(condition)

    @contextmanager
    def constraint_scope(self, condition: Condition | bool) -> Iterator[None]:
        """Assume a condition inside a `with` block."""
        before = self._facts.copy()
        self._facts.assume(condition)
        try:
            yield
        finally:
            self._facts = before

    def can_prove(self, condition: Condition | bool) -> bool:
        """Whether a comparison, such as `n * 4 == 4 * n` or `n // 4 <= n`, holds for all sizes."""
        return self._facts.can_prove(condition)

    def can_prove_equal(self, lhs: IntLike, rhs: IntLike) -> bool:
        """Whether two expressions are always equal."""
        return self.can_prove(SymExpr.of(lhs) == SymExpr.of(rhs))

    def can_prove_greater_equal(self, expr: IntLike, lower: IntLike) -> bool:
        """Whether an expression is never below another."""
        return self.can_prove(SymExpr.of(expr) >= lower)

    def can_prove_less(self, expr: IntLike, upper: IntLike) -> bool:
        """Whether an expression is always below another."""
        return self.can_prove(SymExpr.of(expr) < upper)

    def can_prove_divisible(self, expr: IntLike, divisor: IntLike) -> bool:
        """Whether a division leaves no remainder."""
        return can_prove_divisible(expr, divisor, self._facts)

    def simplify(self, expr: IntLike) -> SymExpr:
        """Return an equal expression, as simple as what is known makes it."""
        return self._facts.simplify(expr)

    # One form serves for both of TVM's.
    rewrite_simplify = canonical_simplify = simplify

    def const_int_bound(self, expr: IntLike) -> ConstIntBound:
        """Return the least and the greatest value."""
        return ConstIntBound(*self._facts.bounds(expr))

    def modular_set(self, expr: IntLike) -> ModularSet:
        """Return what is known of remainders: the largest divisor found, and what is left of it."""
        expr = self.simplify(SymExpr.of(expr))
        if expr.value is not None:
            return ModularSet(0, expr.value)
        base = expr._terms.get((), 0)
        coeff = 1
        for prime in _PRIMES:
            while coeff < _MAX_MODULUS and self.can_prove_divisible(expr - base, coeff * prime):
                coeff *= prime
        return ModularSet(coeff, base % coeff)
