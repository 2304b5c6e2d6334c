"""Bounds of accesses by the predicates of enclosing blocks."""

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.ops import block_predicate
from relax_mlir.lowering.tir_to_vector.scheduled.index import Lin, linear
from relax_mlir.tir.transform.regions import Touch, is_below

# Signed comparisons of arith.cmpi as `factor * (lhs - rhs) + constant < 0`.
_BELOW_ZERO = {2: (1, 0), 3: (1, -1), 4: (-1, 0), 5: (-1, -1)}


@dataclass(frozen=True)
class Guard:
    """Only elements are touched for which `factor * index + size + others` is negative.

    Attributes:
        axis: dimension of the index; None where no index is in the condition.
        factor: 1 or -1.
        size: of numbers and sizes of the function.
        others: values that do not change below the scope, each with a factor.
    """

    axis: int | None
    factor: int
    size: SymExpr
    others: frozenset[tuple[ir.Value, int]]

    def implies(self, other: "Guard") -> bool:
        """Whether no element is left that another guard leaves out."""
        alike = (self.axis, self.factor, self.others) == (other.axis, other.factor, other.others)
        more = (self.size - other.size).lower_bound()
        return alike and more is not None and more >= 0


def guards(touch: Touch, scope: ir.Block) -> tuple[list[Guard], bool]:
    """Return what is known of the conditions under which an access runs.

    Args:
        touch: the access.
        scope: the operations around it that count; counters of loops in it take all their values.

    Returns:
        Those conditions that bound an index, and whether there are no others.
    """
    items = list(touch.op.operands)[2 if touch.stores else 1 :]
    indices = [linear(item) for item in items]
    result: list[Guard] = []
    whole = True
    op = touch.op
    while op.block != scope:
        op = op.parent.operation
        if op.name.startswith("scf."):
            whole = False
        elif op.name == "tir.block":
            for condition in _conjuncts(block_predicate(op)):
                guard = _guard(condition, indices, scope)
                whole = whole and guard is not None
                result += [] if guard is None else [guard]
    return result, whole


def _conjuncts(predicate: ir.Value | None) -> Iterator[ir.Value]:
    if predicate is None:
        return
    owner = predicate.owner
    if not isinstance(owner, ir.Block) and owner.operation.name == "arith.andi":
        for operand in owner.operation.operands:
            yield from _conjuncts(operand)
    else:
        yield predicate


def _guard(condition: ir.Value, indices: list[Lin], scope: ir.Block) -> Guard | None:
    """Return what a comparison says of an index, None where it is of something else."""
    owner = condition.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.cmpi":
        return None
    op = owner.operation
    form = _BELOW_ZERO.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    if form is None or not isinstance(op.operands[0].type, ir.IndexType):
        return None
    factor, constant = form
    lhs, rhs = (linear(operand) for operand in op.operands)
    less = lhs.plus(rhs, -1).times(factor).plus(Lin(constant))
    if _is_fixed(less, scope):
        return Guard(None, 1, *_parted(less))
    for axis, index in enumerate(indices):
        for sign in (1, -1):
            rest = less.plus(index, -sign)
            if not _is_fixed(index, scope) and _is_fixed(rest, scope):
                return Guard(axis, sign, *_parted(rest))
    return None


def _is_fixed(value: Lin, scope: ir.Block) -> bool:
    return all(_size(each) is not None or not is_below(each, scope) for each in value.terms)


def _size(value: ir.Value) -> SymExpr | None:
    """Return a size of the function, wherever it is made; None for any other value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "tir.symbol":
        return None
    return owner.operation.attributes["value"].dims[0]


def _parted(value: Lin) -> tuple[SymExpr, frozenset[tuple[ir.Value, int]]]:
    """Return what of a sum is numbers and sizes, and what else is in it."""
    total, others = SymExpr.const(value.const), []
    for each, factor in value.terms.items():
        size = _size(each)
        if size is None:
            others.append((each, factor))
        else:
            total = total + size * factor
    return total, frozenset(others)
