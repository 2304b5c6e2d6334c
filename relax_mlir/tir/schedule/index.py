"""Index arithmetic: from operations to symbolic expressions of loop variables, and back.

Loop variables and block iterators are symbols whose names no program can have. What is no
arithmetic, such as a loaded index, is a symbol too: one that may be negative.
"""

from collections.abc import Iterable, Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.atoms import Quotient, signed
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.prover import Facts
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.script.printer.guards import Guarded, find_guarded
from relax_mlir.tir.schedule import tree

_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.maxsi": lambda a, b: a.max(b),
    "arith.minsi": lambda a, b: a.min(b),
}
# arith.cmpi: eq, ne, slt, sle, sgt, sge.
SIGNS = ("==", "!=", "<", "<=", ">", ">=")


class Comparison:
    """One of the conditions that a predicate joins by 'and'."""

    __slots__ = ("lhs", "rhs", "sign")

    def __init__(self, lhs: SymExpr, sign: int, rhs: SymExpr) -> None:
        self.lhs, self.sign, self.rhs = lhs, sign, rhs

    def substitute(self, values: Mapping[str, SymExpr]) -> "Comparison":
        """Return the comparison with symbols replaced."""
        return Comparison(self.lhs.substitute(values), self.sign, self.rhs.substitute(values))

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols of both sides."""
        return self.lhs.symbols | self.rhs.symbols

    def holds(self, facts: Facts) -> bool:
        """Whether it is certain."""
        a, b = self.lhs, self.rhs
        return facts.can_prove([a == b, a != b, a < b, a <= b, a > b, a >= b][self.sign])

    def key(self) -> tuple[int, SymExpr]:
        """Return what two comparisons that say the same have in common."""
        gap = self.rhs - self.lhs
        return (self.sign, gap) if self.sign in (0, 1, 2, 3) else (self.sign - 2, -gap)


class Indices:
    """The index arithmetic of one function.

    It is good as long as loops and blocks that it has met are not erased.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self._names: dict[ir.Value, str] = {}
        self._values: dict[str, ir.Value] = {}
        self._depth: dict[str, tuple[int, int]] = {}
        self._guarded: dict[ir.Operation, Guarded] | None = None
        self.parameters = _integer_parameters(function)

    def var(self, value: ir.Value) -> SymExpr:
        """Return the symbol of a loop variable, a block iterator or any other value."""
        if value not in self._names:
            owner = value.owner
            depth, name = 0, f"value {len(self._names)}"
            if isinstance(owner, ir.Block):
                parent = owner.owner.operation
                depth = 2 + sum(1 for _ in tree.ancestors(parent))
                name = f"index {len(self._names)}"
                if parent.name == tree.LOOP:
                    lower = self.lift(parent.operands[0]).lower_bound()
                    name = name if lower is not None and lower >= 0 else signed(name)
                elif parent.name != tree.BLOCK:
                    name = signed(name)
            else:
                name = signed(name)
                depth = 1 + sum(1 for _ in tree.ancestors(owner.operation))
            self._names[value], self._values[name] = name, value
            number = value.arg_number if isinstance(owner, ir.Block) else len(self._names)
            self._depth[name] = (depth, number)
        return SymExpr.var(self._names[value])

    def value_of(self, name: str) -> ir.Value | None:
        """Return the value that a symbol stands for, None for a symbol of the function."""
        return self._values.get(name)

    def lift(self, value: ir.Value) -> SymExpr:
        """Return an integer as an expression."""
        if isinstance(value.owner, ir.Block):
            return self.var(value)
        op = value.owner.operation
        if op.name == "tir.symbol":
            return op.attributes["value"].dims[0]
        if op.name == "arith.constant":
            return SymExpr.const(ir.IntegerAttr(op.attributes["value"]).value)
        if op.name in ("arith.index_cast", "arith.index_castui"):
            if op.operands[0] in self.parameters:
                return SymExpr.var(self.parameters[op.operands[0]])
            inner = self.lift(op.operands[0])
            return inner if self._is_known(inner) else self.var(value)
        if op.name in _ARITHMETIC:
            return _ARITHMETIC[op.name](*map(self.lift, op.operands))
        if op.name == "arith.floordivsi":
            return self._divided(value, *op.operands)
        if op.name in ("arith.select", "arith.subi"):
            guarded = self._guards().get(op)
            if guarded is not None and guarded.word == "//":
                return self._divided(value, guarded.lhs, guarded.rhs)
            if guarded is not None and guarded.word == "%":
                quotient = self._divided(value, guarded.lhs, guarded.rhs)
                rhs = self.lift(guarded.rhs)
                return self.lift(guarded.lhs) - quotient * rhs
        return self.var(value)

    def _guards(self) -> dict[ir.Operation, Guarded]:
        if self._guarded is None:
            self._guarded = find_guarded(self.function)
        return self._guarded

    def _divided(self, value: ir.Value, lhs: ir.Value, rhs: ir.Value) -> SymExpr:
        divisor = self.lift(rhs)
        low = divisor.lower_bound()
        # Sizes that divide are positive wherever a loop over them runs.
        sizes = not any(name in self._values for name in divisor.symbols)
        if (low is not None and low > 0) or (sizes and not divisor.is_const):
            return self.lift(lhs) // divisor
        return self.var(value)

    def _is_known(self, expr: SymExpr) -> bool:
        """Whether an expression is made of loop variables and sizes only."""
        return all(
            name not in self._values or isinstance(self._values[name].owner, ir.Block)
            for name in expr.symbols
        )

    def conditions(self, value: ir.Value | None) -> "list[Comparison | ir.Value]":
        """Return what a predicate joins by 'and'; what is no comparison stays a value."""
        if value is None:
            return []
        if not isinstance(value.owner, ir.Block):
            op = value.owner.operation
            if op.name == "arith.andi":
                return [each for operand in op.operands for each in self.conditions(operand)]
            if op.name == "arith.constant" and ir.IntegerAttr(op.attributes["value"]).value:
                return []
            sign = (
                ir.IntegerAttr(op.attributes["predicate"]).value if op.name == "arith.cmpi" else 6
            )
            if sign < len(SIGNS) and str(op.operands[0].type) != "i1":
                lhs, rhs = map(self.lift, op.operands)
                return [Comparison(lhs, sign, rhs)]
        return [value]

    def block_conditions(self, block: ir.Operation) -> "list[Comparison | ir.Value]":
        """Return what the predicate of a block joins by 'and'."""
        return self.conditions(block_predicate(block))

    def facts(self, op: ir.Operation, *, unit: bool = True, predicate: bool = False) -> Facts:
        """Return what is known at an operation of the loops and blocks around it.

        Args:
            op: the operation; a block's own iterators are not known at it.
            unit: whether the variable of a loop of one step is known to be its lower bound.
            predicate: whether what the predicate of the block `op` says is known too.
        """
        facts = Facts()
        for each in [*reversed(list(tree.ancestors(op)))]:
            if each.name == tree.LOOP:
                lower, extent = map(self.lift, each.operands)
                self._range(facts, self.var(tree.variable(each)), lower, extent, unit)
            elif each.name == tree.BLOCK:
                self.iterators(facts, each)
        if predicate:
            assume(facts, self.block_conditions(op))
        return facts

    def iterators(self, facts: Facts, block: ir.Operation) -> None:
        """Note the ranges of a block's iterators."""
        arguments = tree.body_of(block).arguments
        for argument, extent in zip(arguments, self.extents(block), strict=True):
            self._range(facts, self.var(argument), SymExpr.const(0), extent, True)

    @staticmethod
    def _range(facts: Facts, var: SymExpr, lower: SymExpr, extent: SymExpr, unit: bool) -> None:
        name = var.name
        assert name is not None
        if lower.value is not None and extent.value is not None:
            span = extent.value - 1 if unit else max(extent.value - 1, 1)
            facts.bound(name, lower.value, lower.value + max(span, 0))
            return
        facts.assume(var >= lower)
        facts.assume(var < lower + extent)

    def bindings(self, block: ir.Operation) -> list[SymExpr]:
        """Return the values of a block's iterators."""
        return [self.lift(value) for value in list(block.operands)[: len(tree.iter_types(block))]]

    def extents(self, block: ir.Operation) -> list[SymExpr]:
        """Return the extents of a block's iterators."""
        count = len(tree.iter_types(block))
        return [self.lift(value) for value in list(block.operands)[count : 2 * count]]

    def order(self, name: str) -> tuple[int, int, str]:
        """Return where a symbol goes in a sum: outer variables first, sizes last."""
        return (*self._depth.get(name, (1 << 20, 0)), "" if name in self._depth else name)

    def emit(self, expr: SymExpr) -> ir.Value:
        """Write an expression at the current insertion point; sizes and numbers at the entry."""
        return self.scalar(expr).value

    def scalar(self, expr: SymExpr) -> S.Scalar:
        """Write an expression and return it as an index scalar."""
        if not any(name in self._values for name in expr.symbols):
            return S.Scalar(self.entry(expr), S.INDEX)
        total: S.Scalar | None = None
        fixed = SymExpr.const(0)
        for factors, coefficient in self._summands(expr):
            names = frozenset().union(*(factor.symbols for factor in factors))
            if not any(name in self._values for name in names):
                term = SymExpr.const(coefficient)
                for factor in factors:
                    term = term * factor.expr()
                fixed = fixed + term
                continue
            scalar = None
            for factor in factors:
                own = factor.emit(self)
                scalar = own if scalar is None else scalar * own
            assert scalar is not None
            if total is None:
                total = scalar if coefficient == 1 else scalar * coefficient
            elif coefficient < 0:
                total = total - (scalar if coefficient == -1 else scalar * -coefficient)
            else:
                total = total + (scalar if coefficient == 1 else scalar * coefficient)
        assert total is not None
        if fixed.value is not None and fixed.value != 0:
            return total + fixed.value if fixed.value > 0 else total - -fixed.value
        return total if fixed.value == 0 else total + S.Scalar(self.entry(fixed), S.INDEX)

    def operand(self, expr: SymExpr) -> S.ScalarLike:
        """Return an expression as an operand: a number where it is one."""
        return expr.value if expr.value is not None else self.scalar(expr)

    def entry(self, expr: SymExpr) -> ir.Value:
        """Return a size or a number as a value that is made where the function begins."""
        block = tree.body_of(self.function)
        for view in block.operations:
            op = view.operation
            if op.name not in ("tir.symbol", "arith.constant"):
                break
            if str(op.results[0].type) == "index" and self.lift(op.results[0]) == expr:
                return op.results[0]
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            if expr.value is not None:
                return S.const(expr.value, S.INDEX).value
            return ir.Operation.create(
                "tir.symbol", results=[ir.IndexType.get()], attributes={"value": Dims.of([expr])}
            ).result

    def emit_conditions(self, found: "Iterable[Comparison | ir.Value]") -> ir.Value | None:
        """Write conditions joined by 'and' at the current insertion point; None for none."""
        total: ir.Value | None = None
        kinds = ("eq", "ne", "lt", "le", "gt", "ge")
        for each in found:
            value = each
            if isinstance(each, Comparison):
                lhs, rhs = self.scalar(each.lhs), self.operand(each.rhs)
                value = S.compare(kinds[each.sign], lhs, rhs).value
            both = (total, value)
            total = value if total is None else S.arith.andi(*both)
        return total

    def _summands(self, expr: SymExpr) -> "list[tuple[list[_Factor], int]]":
        """Return products and their coefficients, remainders put together, in reading order."""
        found: list[tuple[list[_Factor], int]] = []
        rest = expr
        quotients = [f for part, _ in expr.split() for f in _factors(part) if f.kind == "floordiv"]
        for quotient in quotients:
            for inner, modulus in _remainders(quotient, quotients):
                whole = quotient.expr() * modulus
                ((_, scale),) = whole.split() if len(whole.split()) == 1 else ((None, 0),)
                count = -_coefficient(rest, whole) // scale if scale else 0
                without = rest - (inner - whole) * count
                if count and len(without.split()) <= len(rest.split()) - (not inner.is_const):
                    found.append(([_Factor("mod", (inner, modulus))], count))
                    rest = without
                    break
        if rest != 0:
            found += [(_factors(part), coefficient) for part, coefficient in rest.split()]
        return sorted(found, key=lambda item: self._place(item[0]))

    def _place(self, factors: "list[_Factor]") -> list[tuple[int, int, str]]:
        names = frozenset().union(*(factor.symbols for factor in factors))
        return sorted(map(self.order, names)) or [(1 << 21, 0, "")]


class _Factor:
    """A factor of a product: a symbol, a quotient, a remainder, a minimum or a maximum."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: str, parts: tuple[SymExpr, ...]) -> None:
        self.kind, self.parts = kind, parts

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(part.symbols for part in self.parts))

    def expr(self) -> SymExpr:
        first, *rest = self.parts
        if self.kind == "symbol":
            return first
        if self.kind in ("min", "max"):
            return first.max(*rest) if self.kind == "max" else first.min(*rest)
        if self.kind == "ceildiv":
            return first.ceildiv(rest[0])
        return first % rest[0] if self.kind == "mod" else first // rest[0]

    def emit(self, indices: Indices) -> S.Scalar:
        if self.kind == "symbol":
            value = indices.value_of(str(self.parts[0]))
            if value is not None:
                return S.Scalar(value, S.INDEX)
            return S.Scalar(indices.entry(self.parts[0]), S.INDEX)
        first, *rest = self.parts
        scalar = indices.scalar(first)
        if self.kind == "ceildiv":
            above = indices.scalar(first + rest[0] - 1)
            return S.binary("floordiv", above, indices.operand(rest[0]))
        for part in rest:
            scalar = S.binary(self.kind, scalar, indices.operand(part))
        return scalar


def _factors(product: SymExpr) -> list[_Factor]:
    found = []
    for atom in product._atoms.values():
        power = next(iter(product._terms)).count(atom.key)
        parts = atom.parts if atom.kind != "symbol" else (SymExpr.var(atom.key),)
        found += [_Factor(atom.kind, parts)] * power
    return found


def _remainders(quotient: _Factor, others: list[_Factor]) -> list[tuple[SymExpr, SymExpr]]:
    """Return `y` and `k` so that the quotient is `y // k`, the outermost form first."""
    lhs, rhs = quotient.parts
    if len(rhs.split()) != 1:
        return []
    found = [(lhs, rhs)]
    for other in others:
        if other.parts[0] == lhs and other.parts[1] != rhs and rhs % other.parts[1] == 0:
            found.append((other.expr(), rhs // other.parts[1]))
    return found


def _coefficient(expr: SymExpr, product: SymExpr) -> int:
    ((key, _),) = product.split()
    return next((c for part, c in expr.split() if part == key), 0)


def assume(facts: Facts, conditions: "Iterable[Comparison | ir.Value]") -> None:
    """Note what conditions say."""
    for each in conditions:
        if isinstance(each, Comparison):
            a, b = each.lhs, each.rhs
            facts.assume([a == b, a != b, a < b, a <= b, a > b, a >= b][each.sign])


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


def _integer_parameters(function: ir.Operation) -> dict[ir.Value, str]:
    """Return the integer parameters of a function by their values."""
    if "arg_attrs" not in function.attributes:
        return {}
    found = {}
    arguments = tree.body_of(function).arguments
    for argument, raw in zip(arguments, function.attributes["arg_attrs"], strict=True):
        attributes = ir.DictAttr(raw)
        if isinstance(argument.type, ir.IntegerType) and "tir.name" in attributes:
            found[argument] = ir.StringAttr(attributes["tir.name"]).value
    return found
