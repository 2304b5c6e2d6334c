"""The way back of index maps: which digits of the indices go where."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from relax_mlir.dialects.symbolic.expr import IntLike, SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.errors import ExprError
from relax_mlir.tir.view.conditions import Comparison
from relax_mlir.tir.view.simplify import simplify
from relax_mlir.tir.view.sums import Factor, summands

_ONE, _ZERO = SymExpr.const(1), SymExpr.const(0)


# An `IndexMap`, which stands above.
_MapT = TypeVar("_MapT", bound=Any)


@dataclass(frozen=True)
class Digit:
    """`name // scale % modulus`; no modulus for the highest digit.

    Attributes:
        name: of the index that it is a digit of.
        scale: what one is worth.
        modulus: how many values it has.
    """

    name: str
    scale: SymExpr
    modulus: SymExpr | None


@dataclass
class Term:
    """A digit in one of the results, and how much of the result one is worth.

    Attributes:
        digit: the digit.
        scale: how much of the result one is worth.
        extent: how many values it has.
        is_reversed: whether the result has its greatest value less the digit.
        value: the digit as an expression of the results.
    """

    digit: Digit
    scale: SymExpr
    extent: SymExpr
    is_reversed: bool
    value: SymExpr


def inverse_of(index_map: _MapT, shape: Sequence[IntLike]) -> tuple[_MapT, list[Comparison]]:
    """Return the way back, and which of its indices come from anything.

    Args:
        index_map: the map.
        shape: how far the indices that it takes go.

    Returns:
        The map back, and conditions on the indices that it takes.

    Raises:
        ValueError: the map is not made of whole digits of its indices, each once.
    """
    if index_map.inverse_index_map is not None:
        return index_map.inverse_index_map, []
    facts, _ = index_map.ranges(shape)
    dims = {name: SymExpr.of(dim) for name, dim in zip(index_map.names, shape, strict=True)}
    names = [f"{name}_new" for name in (f"i{k}" for k in range(len(index_map.final_indices)))]
    terms: list[Term] = []
    conditions: list[Comparison] = []
    for name, expr in zip(names, index_map.final_indices, strict=True):
        own = _terms(expr, dims, facts, index_map)
        conditions += _placed(SymExpr.var(name), own, facts, index_map)
        terms += own
    results = []
    for name, dim in dims.items():
        value, full = _joined([t for t in terms if t.digit.name == name], dim, facts)
        if value is None or full is None:
            raise ExprError(f"{index_map} does not say all of '{name}' once")
        results.append(value)
        if not facts.can_prove(full <= dim):
            conditions.append(Comparison(value, 2, dim))
    return type(index_map)(names, results), conditions


def extent_by_digits(index_map: Any, expr: SymExpr, shape: Sequence[IntLike]) -> SymExpr:
    """Return one more than the greatest value of a sum of digits.

    Args:
        index_map: what the sum is one of the results of.
        expr: the sum.
        shape: how far the indices that it is made of go.

    Raises:
        ValueError: it is no such sum.
    """
    most = _ONE
    for term in terms_of(index_map, expr, shape):
        most = most + term.scale * (term.extent - 1)
    return most


def terms_of(index_map: Any, expr: SymExpr, shape: Sequence[IntLike]) -> list[Term]:
    """Return the digits that an expression is the sum of.

    Args:
        index_map: what the expression is one of the results of.
        expr: the expression.
        shape: how far the indices that it is made of go.

    Raises:
        ValueError: it is no such sum.
    """
    facts, _ = index_map.ranges(shape)
    dims = {name: SymExpr.of(dim) for name, dim in zip(index_map.names, shape, strict=True)}
    return _terms(expr, dims, facts, index_map)


def _terms(expr: SymExpr, dims: dict[str, SymExpr], facts: Facts, of: Any) -> list[Term]:
    """Return the digits that an expression is the sum of; `15 - i` is one, reversed."""
    result: list[Term] = []
    offset = _ZERO
    for product, coefficient in summands(expr, lambda n: (0, 0, n)):
        if not any(factor.symbols & set(dims) for factor in product):
            rest = SymExpr.const(coefficient)
            for factor in product:
                rest = rest * factor.expr()
            offset = offset + rest
            continue
        term = _term(product, coefficient, dims, facts, of)
        result.append(term)
        if term.is_reversed:
            offset = offset - term.scale * (term.extent - 1)
    if not facts.can_prove(offset == 0):
        raise ExprError(f"{of} is not a sum of digits of its indices from 0 on")
    return result


def _term(
    product: list[Factor], coefficient: int, dims: dict[str, SymExpr], facts: Facts, of: Any
) -> Term:
    scale = SymExpr.const(abs(coefficient))
    digit: Digit | None = None
    for factor in product:
        if not factor.symbols & set(dims):
            scale = scale * factor.expr()
            continue
        candidate = _digit(factor, dims, facts)
        if candidate is None or digit is not None:
            raise ExprError(f"'{factor.expr()}' in {of} is no digit of one index")
        digit = candidate
    if digit is None:
        raise ExprError(f"{of} is not a sum of digits of its indices")
    above = dims[digit.name].ceildiv(digit.scale)
    modulus = digit.modulus
    if modulus is not None and facts.can_prove(above <= modulus):
        modulus = None
    digit = Digit(digit.name, digit.scale, modulus)
    return Term(digit, scale, simplify(modulus or above, facts), coefficient < 0, _ZERO)


def _digit(factor: Factor, dims: dict[str, SymExpr], facts: Facts) -> Digit | None:
    if factor.kind == "symbol":
        return Digit(str(factor.parts[0]), _ONE, None)
    if factor.kind not in ("floordiv", "mod"):
        return None
    lhs, rhs = factor.parts
    if rhs.symbols & set(dims):
        return None
    inner = summands(lhs, lambda n: (0, 0, n))
    if len(inner) != 1 or inner[0][1] != 1 or len(inner[0][0]) != 1:
        return None
    result = _digit(inner[0][0][0], dims, facts)
    if result is None:
        return None
    if factor.kind == "mod":
        if result.modulus is not None and result.modulus % rhs != 0:
            return None
        return Digit(result.name, result.scale, rhs)
    modulus = result.modulus
    if modulus is not None:
        if modulus % rhs != 0:
            return None
        modulus = modulus // rhs
    return Digit(result.name, result.scale * rhs, modulus)


def _placed(result: SymExpr, terms: list[Term], facts: Facts, of: Any) -> list[Comparison]:
    """Say what each digit of a result is; returns what must hold of it."""
    conditions: list[Comparison] = []
    left, below = list(terms), _ONE
    order: list[Term] = []
    while left:
        exact = [t for t in left if t.scale == below]
        known = [t for t in left if t.scale.value is not None]
        if exact:
            term = exact[0]
        elif known and len(known) == len(left) and order:
            term = min(known, key=lambda t: t.scale.value or 0)
        else:
            raise ExprError(f"'{of}' has a gap, or digits that overlap")
        if not exact:
            last = order[-1].scale
            if term.scale % last != 0 or not facts.can_prove(term.scale >= below):
                raise ExprError(f"digits of {of} overlap")
        left.remove(term)
        order.append(term)
        below = term.scale * term.extent
    for position, term in enumerate(order):
        value = result // term.scale
        if position + 1 < len(order):
            span = order[position + 1].scale // term.scale
            value = value % span
            if span != term.extent:
                conditions.append(Comparison(value, 2, term.extent))
        term.value = term.extent - 1 - value if term.is_reversed else value
    return conditions


def _joined(terms: list[Term], dim: SymExpr, facts: Facts) -> tuple[SymExpr | None, SymExpr | None]:
    """Return an index made of its digits, and how many values these have together."""
    if not terms:
        return (_ZERO, _ONE) if dim.value == 1 else (None, None)
    left, scale, total = list(terms), _ONE, _ZERO
    while left:
        term = next((t for t in left if t.digit.scale == scale), None)
        if term is None:
            return None, None
        left.remove(term)
        total = total + term.value * scale
        if term.digit.modulus is None:
            return (None, None) if left else (total, scale * term.extent)
        scale = scale * term.digit.modulus
    return (total, scale) if facts.can_prove(scale >= dim) else (None, None)
