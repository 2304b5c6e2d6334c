"""The region of a buffer that the operations of a block access."""

from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.scheduled.index import Lin, integer_of, linear
from relax_mlir.lowering.walk import collect

_PLACES = {"memref.load": 0, "memref.store": 1}
# Uses of a buffer that follow when it changes.
TELLS = ("tir.reads", "tir.writes")


@dataclass(frozen=True)
class Span:
    """Indices of one dimension: `base + low` to `base + high`, all of them if it is `dense`."""

    base: Lin
    low: int
    high: int
    dense: bool

    def covers(self, other: "Span") -> bool:
        """Whether all of another span is certainly in it."""
        same = self.dense and self.base == other.base
        return same and self.low <= other.low and other.high <= self.high


@dataclass(frozen=True)
class Touch:
    """A load or store: for each dimension what it touches, None where that is not known."""

    op: ir.Operation
    stores: bool
    spans: list[Span | None]


def touches(buffer: ir.Value, scope: ir.Block) -> list[Touch] | None:
    """Return the accesses of a buffer in order, None when something else uses it too.

    Args:
        buffer: what is accessed, all of it below `scope`.
        scope: the operations; counters of loops in it take all their values.
    """
    users = {use.owner.operation for use in buffer.uses}
    if any(user.name not in _PLACES and user.name not in TELLS for user in users):
        return None
    result = []
    for op in collect(scope.owner.operation, lambda op: op in users and op.name in _PLACES):
        position = _PLACES[op.name]
        if position and op.operands[0] == buffer:
            return None
        indices = list(op.operands)[position + 1 :]
        used: list[ir.Value] = []
        spans = [_span(linear(index), scope, used) for index in indices]
        if len(set(used)) != len(used):
            # One counter in two dimensions: the region is no box.
            spans = [s and Span(s.base, s.low, s.high, False) for s in spans]
        result.append(Touch(op, bool(position), spans))
    return result


def _span(index: Lin, scope: ir.Block, used: list[ir.Value]) -> Span | None:
    low = high = index.const
    base = Lin(0)
    moving = []
    for value, factor in index.terms.items():
        if not is_below(value, scope):
            base = base.plus(Lin(0, {value: factor}))
            continue
        extent = _extent(value)
        if extent is None or extent < 1:
            return None
        low += min(0, factor * (extent - 1))
        high += max(0, factor * (extent - 1))
        if extent > 1:
            moving.append(factor)
            used.append(value)
    return Span(base, low, high, moving in ([], [1], [-1]))


def is_below(value: ir.Value, scope: ir.Block) -> bool:
    """Whether a value is made in a region of the operations of a block, or by one of them."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    if isinstance(value.owner, ir.Block) and block == scope:
        return False
    while True:
        if block == scope:
            return True
        owner = block.owner.operation
        if owner.name in ("func.func", "builtin.module"):
            return False
        block = owner.block


def _extent(value: ir.Value) -> int | None:
    """Return the extent of a loop from 0 whose counter a value is."""
    owner = value.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "tir.for":
        return None
    lower, extent = (integer_of(each) for each in owner.owner.operation.operands)
    return extent if lower == 0 and isinstance(extent, int) else None
