"""Readable order of sums: remainders merged, outer variables first, sizes last."""

from collections.abc import Callable

from relax_mlir.dialects.symbolic.expr import SymExpr

# Where a symbol goes in a sum.
Place = Callable[[str], tuple[int, int, str]]


class Factor:
    """A factor of a product: a symbol, a quotient, a remainder, a minimum or a maximum."""

    __slots__ = ("kind", "parts")

    kind: str
    parts: tuple[SymExpr, ...]

    def __init__(self, kind: str, parts: tuple[SymExpr, ...]) -> None:
        self.kind, self.parts = kind, parts

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols in it."""
        return frozenset().union(*(part.symbols for part in self.parts))

    def expr(self) -> SymExpr:
        """Return the factor as an expression."""
        first, *rest = self.parts
        if self.kind == "symbol":
            return first
        if self.kind in ("min", "max"):
            return first.max(*rest) if self.kind == "max" else first.min(*rest)
        if self.kind == "ceildiv":
            return first.ceildiv(rest[0])
        return first % rest[0] if self.kind == "mod" else first // rest[0]


def summands(expr: SymExpr, place: Place) -> list[tuple[list[Factor], int]]:
    """Return products and their coefficients, remainders put together, in reading order."""
    result: list[tuple[list[Factor], int]] = []
    rest, whole_quotients = _regrouped(expr)
    result += whole_quotients
    expr = rest
    quotients = [f for part, _ in expr.split() for f in factors(part) if f.kind == "floordiv"]
    for quotient in quotients:
        for inner, modulus in _remainders(quotient, quotients):
            whole = quotient.expr() * modulus
            if len(whole.split()) != 1:
                continue
            ((_, scale),) = whole.split()
            count = -_coefficient(rest, whole) // scale
            without = rest - (inner - whole) * count
            if count and len(without.split()) <= len(rest.split()) - (not inner.is_const):
                result.append(([Factor("mod", (inner, modulus))], count))
                rest = without
                break
    if rest != 0:
        for part, coefficient in rest.split():
            own = sorted(factors(part), key=lambda factor: _order([factor], place))
            result.append((own, coefficient))
    return sorted(result, key=lambda item: _order(item[0], place))


def _regrouped(expr: SymExpr) -> tuple[SymExpr, list[tuple[list[Factor], int]]]:
    """Return an expression without quotients `(i * 12 + j) // 10`, and these.

    The normal form has them as `i + (i * 2 + j) // 10`.
    """
    result: list[tuple[list[Factor], int]] = []
    rest = expr
    for part, coefficient in expr.split():
        atom = part.atom
        if atom is None or atom.kind != "floordiv":
            continue
        lhs, rhs = atom.parts
        drawn = sum(
            (p * (c // coefficient) for p, c in rest.split()
             if p.symbols and c % coefficient == 0 and p.symbols <= lhs.symbols and p != part
             and all(factor.kind == "symbol" for factor in factors(p))),
            SymExpr.const(0),
        )  # fmt: skip
        if drawn.symbols:
            result.append(([Factor("floordiv", (lhs + drawn * rhs, rhs))], coefficient))
            rest = rest - (part + drawn) * coefficient
    return rest, result


def _order(product: list[Factor], place: Place) -> list[tuple[int, int, str]]:
    names = frozenset().union(*(factor.symbols for factor in product))
    return sorted(map(place, names)) or [(1 << 21, 0, "")]


def factors(product: SymExpr) -> list[Factor]:
    """Return the factors of a product, a power as often as it says."""
    result = []
    for atom in product._atoms.values():
        power = next(iter(product._terms)).count(atom.key)
        parts = atom.parts if atom.kind != "symbol" else (SymExpr.var(atom.key),)
        result += [Factor(atom.kind, parts)] * power
    return result


def _remainders(quotient: Factor, others: list[Factor]) -> list[tuple[SymExpr, SymExpr]]:
    """Return `y` and `k` so that the quotient is `y // k`, the outermost form first."""
    lhs, rhs = quotient.parts
    if len(rhs.split()) != 1:
        return []
    result = [(lhs, rhs)]
    for other in others:
        if other.parts[0] == lhs and other.parts[1] != rhs and rhs % other.parts[1] == 0:
            result.append((other.expr(), rhs // other.parts[1]))
    return result


def _coefficient(expr: SymExpr, product: SymExpr) -> int:
    ((key, _),) = product.split()
    return next((c for part, c in expr.split() if part == key), 0)
