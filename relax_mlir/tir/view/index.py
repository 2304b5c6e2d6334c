"""Index arithmetic: from operations to symbolic expressions of loop variables, and back.

Loop variables and block iterators are symbols whose names no program can have. What is no
arithmetic, such as a loaded index, is a symbol too: one that may be negative.
"""

from collections.abc import Iterable, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.atoms import signed
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.guarded import find_guarded
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.conditions import SIGNS, Comparison, assume
from relax_mlir.tir.view.regions import Range
from relax_mlir.tir.view.sums import Factor, summands

_CASTS = ("arith.index_cast", "arith.index_castui")
_ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.maxsi": lambda a, b: a.max(b),
    "arith.minsi": lambda a, b: a.min(b),
}


class Indices:
    """The index arithmetic of one function.

    It is good as long as loops and blocks that it has met are not erased.
    """

    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self._names: dict[ir.Value, str] = {}
        self._values: dict[str, ir.Value] = {}
        self._depth: dict[str, tuple[int, int]] = {}
        self.parameters: dict[ir.Value, str] = _integer_parameters(function)

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

    def loop_var(self, loop: ir.Operation) -> SymExpr:
        """Return the symbol of a loop's variable."""
        return self.var(tree.variable(loop))

    def loop_range(self, loop: ir.Operation) -> tuple[str, Range]:
        """Return the name of a loop's variable and the values that it takes."""
        lower, extent = map(self.lift, loop.operands)
        return str(self.loop_var(loop)), Range(lower, lower + extent - 1)

    def renaming(self, old: Iterable[ir.Value], new: Iterable[ir.Value]) -> dict[str, SymExpr]:
        """Return the substitution of loop variables or iterators by as many others."""
        return {str(self.var(a)): self.var(b) for a, b in zip(old, new, strict=True)}

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
        if op.name in _CASTS:
            if op.operands[0] in self.parameters:
                return SymExpr.var(self.parameters[op.operands[0]])
            inner = self.lift(op.operands[0])
            return inner if self._is_known(inner) else self.var(value)
        if op.name == "arith.floordivsi":
            quotient = self._divided(*op.operands)
            return self.var(value) if quotient is None else quotient
        if op.name in ("arith.select", "arith.subi"):
            guarded = find_guarded(op).get(op)
            if guarded is not None and guarded.word in ("//", "%"):
                quotient = self._divided(guarded.lhs, guarded.rhs)
                if quotient is None:
                    return self.var(value)
                if guarded.word == "//":
                    return quotient
                return self.lift(guarded.lhs) - quotient * self.lift(guarded.rhs)
        if op.name in _ARITHMETIC:
            return _ARITHMETIC[op.name](*map(self.lift, op.operands))
        return self.var(value)

    def _divided(self, lhs: ir.Value, rhs: ir.Value) -> SymExpr | None:
        """Return a quotient, None where nothing is known of what divides."""
        divisor = self.lift(rhs)
        low = divisor.lower_bound()
        # Sizes that divide are positive wherever a loop over them runs.
        sizes = not any(name in self._values for name in divisor.symbols)
        if (low is not None and low > 0) or (sizes and not divisor.is_const):
            return self.lift(lhs) // divisor
        return None

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
        for region in block.regions:
            for body in region.blocks:
                for argument, extent in zip(body.arguments, self.extents(block), strict=True):
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
        if expr.name in self._values:
            return self._values[expr.name]
        return S.cast(self.scalar(expr), S.INDEX).value

    def scalar(self, expr: SymExpr) -> S.Scalar:
        """Write an expression and return it as a scalar.

        It is an index, or an `int64` where loaded numbers are in it, as a script has them.
        """
        if not any(name in self._values for name in expr.symbols):
            return S.Scalar(self.entry(expr), S.INDEX)
        fixed = SymExpr.const(0)
        terms: list[tuple[S.Scalar, int]] = []
        for factors, coefficient in summands(expr, self.order):
            names = frozenset().union(*(factor.symbols for factor in factors))
            if any(name in self._values for name in names):
                terms.append((self._product(factors), coefficient))
                continue
            term = SymExpr.const(coefficient)
            for factor in factors:
                term = term * factor.expr()
            fixed = fixed + term
        total = None
        if terms[0][1] < 0 and (fixed.value is None or fixed.value > 0):
            # `15 - i`, not `i * -1 + 15`.
            total, fixed = self.operand(fixed), SymExpr.const(0)
        for scalar, coefficient in terms:
            if total is None:
                total = scalar if coefficient == 1 else scalar * coefficient
            elif coefficient < 0:
                total = total - (scalar if coefficient == -1 else scalar * -coefficient)
            else:
                total = total + (scalar if coefficient == 1 else scalar * coefficient)
        assert isinstance(total, S.Scalar)
        if fixed.value is not None and fixed.value != 0:
            return total + fixed.value if fixed.value > 0 else total - -fixed.value
        return total if fixed.value == 0 else total + S.Scalar(self.entry(fixed), S.INDEX)

    def _product(self, factors: Sequence[Factor]) -> S.Scalar:
        first, *rest = map(self._factor, factors)
        for each in rest:
            first = first * each
        return first

    def _factor(self, factor: Factor) -> S.Scalar:
        first, *rest = factor.parts
        if not any(name in self._values for name in factor.symbols):
            return S.Scalar(self.entry(factor.expr()), S.INDEX)
        if factor.kind == "symbol":
            return _number(self._values[str(first)])
        if factor.kind == "ceildiv":
            above = self.scalar(first + rest[0] - 1)
            return S.binary("floordiv", above, self.operand(rest[0]))
        scalar = self.scalar(first)
        for part in rest:
            scalar = S.binary(factor.kind, scalar, self.operand(part))
        return scalar

    def operand(self, expr: SymExpr) -> S.ScalarLike:
        """Return an expression as an operand: a number where it is one."""
        return expr.value if expr.value is not None else self.scalar(expr)

    def entry(self, expr: SymExpr) -> ir.Value:
        """Return a size or a number as a value that is made where the function begins.

        Raises:
            ScheduleError: it is none, but changes in a loop.
        """
        if any(name in self._values for name in expr.symbols):
            raise ScheduleError(
                "an extent would depend on the variable of a loop, so no loop or block around it "
                "can have it"
            )
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

    def emit_conditions(self, conditions: "Iterable[Comparison | ir.Value]") -> ir.Value | None:
        """Write conditions joined by 'and' at the current insertion point; None for none."""
        total: ir.Value | None = None
        kinds = ("eq", "ne", "lt", "le", "gt", "ge")
        for each in conditions:
            if isinstance(each, Comparison):
                lhs, rhs = self.scalar(each.lhs), self.operand(each.rhs)
                value = S.compare(kinds[each.sign], lhs, rhs).value
            else:
                value = each
            both = (total, value)
            total = value if total is None else S.arith.andi(*both)
        return total


def _number(value: ir.Value) -> S.Scalar:
    """Return an index as a scalar: an `int64` where it is made of a number of narrower dtype."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name in _CASTS:
        given = owner.operation.operands[0]
        unsigned = "u" if owner.operation.name.endswith("ui") else ""
        dtype = f"{unsigned}int{given.type.width}"
        return S.cast(S.Scalar(given, dtype), "int64")
    return S.Scalar(value, S.INDEX)


def _integer_parameters(function: ir.Operation) -> dict[ir.Value, str]:
    """Return the integer parameters of a function by their values."""
    if "arg_attrs" not in function.attributes:
        return {}
    result = {}
    arguments = tree.body_of(function).arguments
    for argument, raw in zip(arguments, function.attributes["arg_attrs"], strict=True):
        attributes = ir.DictAttr(raw)
        if isinstance(argument.type, ir.IntegerType) and "tir.name" in attributes:
            result[argument] = ir.StringAttr(attributes["tir.name"]).value
    return result
