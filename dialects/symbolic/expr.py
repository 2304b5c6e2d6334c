"""Symbolic integers: MLIR affine expressions over named symbols, kept in one normal form.

Products of symbols are allowed (semi-affine expressions). MLIR folds eagerly in C++ as expressions
are built; on top of that every expression is brought to a sum of sorted monomials, so two whose
normal forms are equal have equal values. There whole parts are drawn out of quotients, and a
remainder is spelled through its quotient: MLIR folds either way, and both must end the same.
Divisors are taken to be other than zero. Comparisons are conditions that a prover decides.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.atoms import NOTHING, Atom, Extremum, Known, Quotient, Symbol
from relax_mlir.dialects.symbolic.conditions import Condition
from relax_mlir.dialects.symbolic.no_quotients import NoQuotients

IntLike = Union[int, "SymExpr"]
# A monomial is a sorted tuple of the keys of its atoms.
_Monomial = tuple[str, ...]


def _operator(compute: Callable[["SymExpr", "SymExpr"], Any]) -> Callable[..., Any]:
    """Return a method that leaves operands which are no integers to their own operators.

    So it does those that have `__takes_sizes__`: of a symbolic size and an element of a tensor,
    `n + a[i]` is an expression of the element's kind.
    """

    @functools.wraps(compute)
    def method(self: "SymExpr", other: Any) -> Any:
        if type(other) is int:
            other = SymExpr.const(other)
        elif not isinstance(other, SymExpr):
            foreign = isinstance(other, bool) or hasattr(other, "__takes_sizes__")
            if foreign or not hasattr(other, "__index__"):
                return NotImplemented
            other = SymExpr.const(other.__index__())
        return compute(self, other)

    return method


class SymExpr(NoQuotients):
    """An integer expression over named, function-scoped, non-negative symbols. Immutable.

    Use `SymExpr.var("n")`, `SymExpr.const(4)` and Python's `+ - * // %`; `ceildiv`, `max` and `min`
    are methods. `==` and `!=` hold or not by the normal forms, as conditions that also know their
    two sides; `< <= > >=` give conditions for a prover.
    """

    __slots__ = ("_atoms", "_terms")

    def __init__(self, terms: Mapping[_Monomial, int], atoms: Mapping[str, Atom]) -> None:
        self._terms = {m: c for m, c in sorted(terms.items(), key=_order) if c}
        used = {key for monomial in self._terms for key in monomial}
        self._atoms = {key: atoms[key] for key in sorted(used)}

    def same_as(self, other: object) -> bool:
        """Whether the other is the same expression; expressions have no other identity."""
        return isinstance(other, SymExpr) and bool(self == other)

    @staticmethod
    def _in_order(terms: dict[_Monomial, int], atoms: dict[str, Atom]) -> "SymExpr":
        """Return what the constructor would make of terms that are in its order, none of them 0."""
        made = SymExpr.__new__(SymExpr)
        made._terms, made._atoms = terms, atoms
        return made

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def const(value: int) -> "SymExpr":
        """Return a constant."""
        return SymExpr._in_order({(): int(value)} if value else {}, {})

    @staticmethod
    def var(name: str) -> "SymExpr":
        """Return the symbol of that name."""
        return SymExpr._in_order({(name,): 1}, {name: Symbol(name)})

    @staticmethod
    def of(value: IntLike) -> "SymExpr":
        """Return `value` as an expression.

        Raises:
            TypeError: it is neither an integer nor an expression.
        """
        if isinstance(value, SymExpr):
            return value
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"a shape dimension must be an integer or symbolic, got {type(value).__name__}"
            )
        return SymExpr.const(value.__index__())

    @property
    def is_const(self) -> bool:
        """Whether no symbol is left."""
        return not self._atoms

    @property
    def value(self) -> int | None:
        """The integer when constant, else None."""
        return self._terms.get((), 0) if self.is_const else None

    def __int__(self) -> int:
        """Return the integer of a constant; a TypeError where there are symbols."""
        if self.value is None:
            raise TypeError(f"{self} is no number: its symbols have values at run time")
        return self.value

    @property
    def name(self) -> str | None:
        """The symbol's name when the expression is one plain symbol, else None."""
        atom = self.atom
        return atom.name if isinstance(atom, Symbol) else None

    @property
    def dtype(self) -> str:
        """The dtype of every size, also of one that a script calls an int32."""
        return "int64"

    @property
    def atom(self) -> Atom | None:
        """The symbol, quotient, minimum or maximum that the expression is, None for a sum."""
        if len(self._terms) == 1:
            ((monomial, coefficient),) = self._terms.items()
            if coefficient == 1 and len(monomial) == 1:
                return self._atoms[monomial[0]]
        return None

    @property
    def symbols(self) -> frozenset[str]:
        """The names that occur anywhere in the expression."""
        return frozenset().union(*[atom.symbols for atom in self._atoms.values()])

    @property
    def leaves(self) -> frozenset[str]:
        """What MLIR sees as symbols: names, and the texts of minima and maxima."""
        return frozenset().union(*(atom.leaves for atom in self._atoms.values()))

    @_operator
    def __add__(self, other: "SymExpr") -> "SymExpr":
        if not self._atoms and not other._atoms:
            return SymExpr.const(self._terms.get((), 0) + other._terms.get((), 0))
        if not (self._terms and other._terms):
            return self if self._terms else other
        terms = dict(self._terms)
        for monomial, coefficient in other._terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return SymExpr(terms, {**self._atoms, **other._atoms})

    @_operator
    def __mul__(self, other: "SymExpr") -> "SymExpr":
        if not self._atoms or not other._atoms:
            # Most factors are numbers: no term gets another place.
            factor, rest = (self, other) if not self._atoms else (other, self)
            number = factor._terms.get((), 0)
            if number in (0, 1):
                return rest if number else factor
            if not rest._atoms:
                return SymExpr.const(number * rest._terms.get((), 0))
            return SymExpr._in_order({m: number * c for m, c in rest._terms.items()}, rest._atoms)
        terms: dict[_Monomial, int] = {}
        for left, a in self._terms.items():
            for right, b in other._terms.items():
                monomial = tuple(sorted(left + right))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return SymExpr(terms, {**self._atoms, **other._atoms})

    def __neg__(self) -> "SymExpr":
        return self * -1

    @_operator
    def __sub__(self, other: "SymExpr") -> "SymExpr":
        return self + -other

    @_operator
    def __rsub__(self, other: "SymExpr") -> "SymExpr":
        return other - self

    __radd__ = __add__
    __rmul__ = __mul__

    @_operator
    def __floordiv__(self, other: "SymExpr") -> "SymExpr":
        return _divide(self, other, "floordiv")

    @_operator
    def __rfloordiv__(self, other: "SymExpr") -> "SymExpr":
        return other // self

    def ceildiv(self, other: IntLike) -> "SymExpr":
        """Return the quotient rounded up."""
        return _divide(self, SymExpr.of(other), "ceildiv")

    @_operator
    def __mod__(self, other: "SymExpr") -> "SymExpr":
        return self - (self // other) * other

    @_operator
    def __rmod__(self, other: "SymExpr") -> "SymExpr":
        return other % self

    def max(self, *others: IntLike) -> "SymExpr":
        """Return the largest of the expressions."""
        return _extremum("max", [self, *map(SymExpr.of, others)])

    def min(self, *others: IntLike) -> "SymExpr":
        """Return the smallest of the expressions."""
        return _extremum("min", [self, *map(SymExpr.of, others)])

    # What equal expressions compare to is a condition: true or false like a bool, by the normal
    # forms, but a prover who knows more may still ask for the two sides.
    @_operator
    def __eq__(self, other: "SymExpr") -> Any:
        return Condition("==", self, other, self._terms == other._terms)

    @_operator
    def __ne__(self, other: "SymExpr") -> Any:
        return Condition("!=", self, other, self._terms != other._terms)

    @_operator
    def __le__(self, other: "SymExpr") -> Condition:
        return Condition.ordered("<=", self, other)

    @_operator
    def __lt__(self, other: "SymExpr") -> Condition:
        return Condition.ordered("<", self, other)

    @_operator
    def __ge__(self, other: "SymExpr") -> Condition:
        return Condition.ordered("<=", other, self)

    @_operator
    def __gt__(self, other: "SymExpr") -> Condition:
        return Condition.ordered("<", other, self)

    def __hash__(self) -> int:
        return hash(tuple(self._terms.items()))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts: list[str] = []
        for factors, coefficient in self._summands():
            if coefficient not in (1, -1) or not factors:
                factors = [*factors, str(abs(coefficient))]
            text = " * ".join(map(str, factors))
            if parts:
                parts.append(f" {'-' if coefficient < 0 else '+'} {text}")
            else:
                parts.append(f"-{text}" if coefficient < 0 else text)
        return "".join(parts) or "0"

    def substitute(self, values: Mapping[str, IntLike]) -> "SymExpr":
        """Return the expression with the named symbols replaced."""
        if self.is_const:
            return self

        def leaf(name: str) -> SymExpr:
            return SymExpr.of(values[name]) if name in values else SymExpr.var(name)

        return self._map(leaf)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the integer for given symbol values.

        Raises:
            KeyError: a symbol has no value.
            ZeroDivisionError: a divisor is zero.
        """
        return sum(
            coefficient * math.prod(self._atoms[key].evaluate(values) for key in monomial)
            for monomial, coefficient in self._terms.items()
        )

    def fold(
        self,
        symbol: Callable[[str], Any],
        constant: Callable[[int], Any],
        divide: Callable[[str, Any, Any], Any],
    ) -> Any:
        """Rebuild the expression in another arithmetic, whose values have `+` and `*`.

        Args:
            symbol: value of a symbol.
            constant: value of an integer.
            divide: result of `floordiv`, `ceildiv`, `mod`, `max` or `min` of two values.
        """
        total = None
        for monomial, coefficient in self._terms.items():
            term = None if coefficient == 1 and monomial else constant(coefficient)
            for key in monomial:
                atom = self._atoms[key]
                if isinstance(atom, Symbol):
                    factor = symbol(atom.name)
                else:
                    factor, *rest = (part.fold(symbol, constant, divide) for part in atom.parts)
                    for part in rest:
                        factor = divide(atom.kind, factor, part)
                term = factor if term is None else term * factor
            total = term if total is None else total + term
        return constant(0) if total is None else total

    def to_affine(self, names: Mapping[str, int]) -> ir.AffineExpr:
        """Return the MLIR expression in which symbol `names[x]` stands for the leaf `x`.

        Raises:
            ValueError: a constant needs more than 64 bits.
        """
        total = ir.AffineConstantExpr.get(0)
        for factors, coefficient in self._summands():
            if not -(2**63) <= coefficient < 2**63:
                raise ValueError(f"{coefficient} in a shape expression does not fit 64 bits")
            term = ir.AffineConstantExpr.get(coefficient)
            for factor in factors:
                term = factor.to_affine(names) * term
            total = total + term
        return total

    def lower_bound(self, known: Known = NOTHING) -> int | None:
        """Return an integer this is never below, None when none is known.

        Symbols are not negative, and divisors are taken to be positive.

        Args:
            known: least and greatest values of symbols.
        """
        total = 0
        for factors, coefficient in self._summands():
            bounds = [factor.bounds(known) for factor in factors]
            # Only products of what is not negative have simple bounds; one factor has its own.
            if len(bounds) > 1 and any(low is None or low < 0 for low, _ in bounds):
                return None
            ends = (low if coefficient > 0 else high for low, high in bounds)
            ends = [end for end in ends if end is not None]
            if len(ends) != len(factors):
                return None
            total += coefficient * math.prod(ends)
        return total

    def upper_bound(self, known: Known = NOTHING) -> int | None:
        """Return an integer this is never above, None when none is known."""
        low = (-self).lower_bound(known)
        return None if low is None else -low

    def as_operand(self) -> str:
        """Return the text with parentheses where an operator on it needs them."""
        text = str(self)
        single = [each for each, count in self._summands() if count == 1 and len(each) == 1]
        plain = self.is_const or (single and len(self._terms) == 1)
        return text if plain else f"({text})"

    def split(self) -> list[tuple["SymExpr", int]]:
        """Return the products that this is the sum of, each without its coefficient."""
        return [
            (SymExpr({monomial: 1}, self._atoms), coefficient)
            for monomial, coefficient in self._terms.items()
        ]

    def remainder_of(self) -> tuple["SymExpr", "SymExpr"] | None:
        """Return `a` and `b` when the expression is `a % b`, else None."""
        parts = list(self._summands())
        if len(parts) == 1 and parts[0][1] == 1 and len(parts[0][0]) == 1:
            (atom,) = parts[0][0]
            if isinstance(atom, Quotient) and atom.kind == "mod":
                return atom.lhs, atom.rhs
        return None

    def _summands(self) -> Iterator[tuple[list[Atom], int]]:
        """Yield products of atoms and their coefficients, remainders put together again."""
        rest = self
        for monomial in self._terms:
            for key in monomial:
                quotient = self._atoms[key]
                if not isinstance(quotient, Quotient) or quotient.kind != "floordiv":
                    continue
                if len(quotient.rhs._terms) != 1:
                    continue
                remainder = quotient.lhs - SymExpr({(key,): 1}, {key: quotient}) * quotient.rhs
                count = -rest._terms.get(monomial, 0) // quotient.rhs._lead
                without = rest - remainder * count
                if count and len(without._terms) + len(remainder._terms) <= len(rest._terms) + (
                    () in quotient.lhs._terms
                ):
                    yield [Quotient("mod", quotient.lhs, quotient.rhs)], count
                    rest = without
        for monomial, coefficient in rest._terms.items():
            yield [self._atoms[key] for key in monomial], coefficient

    @property
    def _lead(self) -> int:
        return next(iter(self._terms.values()))

    def _map(self, leaf: Callable[[str], "SymExpr"]) -> "SymExpr":
        total = SymExpr.const(0)
        for monomial, coefficient in self._terms.items():
            term = SymExpr.const(coefficient)
            for key in monomial:
                atom = self._atoms[key]
                if isinstance(atom, Symbol):
                    term = term * leaf(atom.name)
                    continue
                parts = [part._map(leaf) for part in atom.parts]
                if isinstance(atom, Extremum):
                    term = term * _extremum(atom.kind, parts)
                else:
                    term = term * _divide(*parts, atom.kind)
            total = total + term
        return total


def _order(item: tuple[_Monomial, int]) -> tuple[int, _Monomial]:
    return (-len(item[0]), item[0])


def _divide(expr: SymExpr, divisor: SymExpr, kind: str) -> SymExpr:
    """Return the quotient with its whole part drawn out."""
    if divisor == 0:
        raise ZeroDivisionError(f"division of {expr} by zero in a shape expression")
    if divisor.is_const:
        by = divisor._terms[()]
        if expr.is_const:
            number = expr._terms.get((), 0)
            return SymExpr.const(-(-number // by) if kind == "ceildiv" else number // by)
        if by < 0:
            expr, by = -expr, -by
        if kind == "ceildiv":
            expr, kind = expr + (by - 1), "floordiv"
        divisor = SymExpr.const(by)
    if expr == divisor:
        return SymExpr.const(1)
    if len(divisor._terms) != 1:
        return _single(Quotient(kind, expr, divisor))
    whole, rest = _draw_out(expr, divisor)
    if not rest._terms:
        return whole
    if divisor.is_const:
        if max((factor for monomial, factor in rest._terms.items() if monomial), default=0) < 0:
            # One form of a quotient that is rounded up: -(-n // 3) is (n + 2) // 3.
            return whole - _divide(-rest + (divisor._lead - 1), divisor, kind)
        # (4 * n + 3) // 8 is (n + 0) // 2: the common factor goes, and the constant rounds down.
        common = math.gcd(divisor._lead, *(c for m, c in rest._terms.items() if m))
        if common > 1:
            rest = SymExpr({m: c // common for m, c in rest._terms.items()}, rest._atoms)
            return whole + _divide(rest, SymExpr.const(divisor._lead // common), kind)
    return whole + _single(Quotient(kind, rest, divisor))


def _draw_out(expr: SymExpr, divisor: SymExpr) -> tuple[SymExpr, SymExpr]:
    """Return `whole` and `rest` with `expr == whole * divisor + rest`, for a one-term divisor."""
    ((monomial, by),) = divisor._terms.items()
    whole: dict[_Monomial, int] = {}
    rest = dict(expr._terms)
    for term, coefficient in expr._terms.items():
        if any(term.count(key) < monomial.count(key) for key in monomial):
            continue
        factors = list(term)
        for key in monomial:
            factors.remove(key)
        # Towards zero keeps the sign of a term; a constant has one remainder, the non-negative.
        count = coefficient // by
        if term and count < 0:
            count = -(-coefficient // by)
        whole[tuple(factors)] = count
        rest[term] -= count * by
    return SymExpr(whole, expr._atoms), SymExpr(rest, expr._atoms)


def _single(atom: Atom) -> SymExpr:
    return SymExpr({(atom.key,): 1}, {atom.key: atom})


def _extremum(kind: str, exprs: list[SymExpr]) -> SymExpr:
    """Return the largest or smallest, without those that are certain not to be needed."""
    parts: list[SymExpr] = []
    for expr in exprs:
        atom = expr.atom
        parts += atom.parts if atom is not None and atom.kind == kind else [expr]
    kept: list[SymExpr] = []
    for index, part in enumerate(parts):
        if not any(_dominates(kind, rival, part) for rival in (*kept, *parts[index + 1 :])):
            kept.append(part)
    return kept[0] if len(kept) == 1 else _single(Extremum(kind, tuple(sorted(kept, key=str))))


def _dominates(kind: str, rival: SymExpr, part: SymExpr) -> bool:
    low = (rival - part if kind == "max" else part - rival).lower_bound()
    return low is not None and low >= 0


def product(dims: Sequence[SymExpr]) -> SymExpr:
    """Return the product of the dimensions, 1 for none."""
    return functools.reduce(operator.mul, dims, SymExpr.const(1))
