"""Score modification: scale, biases and masks of scores before the softmax, matched and applied."""

from dataclasses import dataclass, field

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Matrix
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.walk import defining_op, operands_of

LOWEST = float("-inf")
LOG2_E = 1.4426950408889634
_FAR = float(np.finfo(np.float32).max)
_WIDEN = "arith.extf"
# Predicates of arith.cmpi.
_DIFFERS, _LESS, _AT_MOST = 1, 2, 3


@dataclass
class Scores:
    """The modification of scores, in place.

    Attributes:
        factors: loop-invariant factors.
        added: loads of the biases.
        widened: the conversion of each, or None.
        causal: whether a query sees only keys up to its own number plus `offset`.
        offset: that value, loop-invariant; None for zero.
        window: how many keys before that it sees; None for all.
        seen: the load of a mask; None for none.
        unseen: the score of a masked key.
    """

    factors: list[ir.Value] = field(default_factory=list)
    added: list[Access] = field(default_factory=list)
    widened: list[str | None] = field(default_factory=list)
    causal: bool = False
    offset: ir.Value | None = None
    window: int | None = None
    seen: Access | None = None
    unseen: float = LOWEST


def is_constant(value: ir.Value, number: float) -> bool:
    """Whether a value is a floating-point constant."""
    return _float(value) == number


def _float(value: ir.Value) -> float | None:
    """Return the number of a floating-point constant."""
    op = defining_op(value, "arith.constant")
    attr = None if op is None else op.attributes["value"]
    return attr.value if isinstance(attr, ir.FloatAttr) else None


def match_scores(nest: Nest, buffer: ir.Value) -> Scores | None:
    """Return the modification of scores of a nest, None if it is none.

    Args:
        nest: its last two iterators are queries and keys.
        buffer: of the products, and then of the scores.
    """
    stores = [store for store in nest.stores if store.buffer == buffer]
    loads = {load.op.results[0]: load for load in nest.loads}
    if len(stores) != 1 or len(nest.stores) != 1 or "reduction" in nest.types or nest.has_init():
        return None
    result = Scores()
    value = stores[0].op.operands[0]
    while (hidden := operands_of(value, "arith.select")) is not None:
        condition, value, other = hidden
        if result.seen is not None:
            return None
        number, result.seen = _float(other), _flag(loads, condition)
        if result.seen is not None and number is not None:
            result.unseen = number
        elif result.causal or number != LOWEST or not _visible(result, condition, nest):
            return None
    while (pair := operands_of(value, "arith.addf")) is not None:
        value, summand = pair[0], _summand(loads, pair[1], buffer)
        if summand is None:
            value, summand = pair[1], _summand(loads, pair[0], buffer)
        if summand is None:
            return None
        load, widen = summand
        result.added.insert(0, load)
        result.widened.insert(0, widen)
    while (pair := operands_of(value, "arith.mulf")) is not None:
        if not is_fixed(pair[1], nest):
            pair.reverse()
        if not is_fixed(pair[1], nest):
            return None
        value, factor = pair
        result.factors.append(factor)
    load = loads.get(value)
    if load is None or load.buffer != buffer or load.exprs != stores[0].exprs:
        return None
    return result


def _flag(loads: dict[ir.Value, Access], condition: ir.Value) -> Access | None:
    """Return the load of the byte of a condition, None for other conditions."""
    pair = _comparison(condition, _DIFFERS)
    if pair is None or operands_of(pair[1], "arith.constant") is None:
        return None
    zero = ir.IntegerAttr(pair[1].owner.operation.attributes["value"]).value == 0
    return loads.get(pair[0]) if zero else None


def _summand(
    loads: dict[ir.Value, Access], value: ir.Value, buffer: ir.Value
) -> tuple[Access, str | None] | None:
    wide = operands_of(value, _WIDEN)
    load = loads.get(wide[0] if wide else value)
    if load is None or load.buffer == buffer:
        return None
    return load, _WIDEN if wide else None


def is_fixed(value: ir.Value, nest: Nest) -> bool:
    """Whether a value depends on neither iterators nor memory."""
    op = defining_op(value)
    if op is None:
        return value.owner.owner.operation.name == "func.func"
    if op.name.startswith(("tir.symbol", "arith.constant")):
        return True
    if not op.name.startswith(("arith.", "math.")) or len(op.regions):
        return False
    return all(is_fixed(operand, nest) for operand in op.operands)


def copy_fixed(value: ir.Value) -> ir.Value:
    """Copy the computation of such a value to the insertion point."""
    op = defining_op(value)
    if op is None or op.block.owner.operation.name == "func.func":
        return value
    operands = [copy_fixed(operand) for operand in op.operands]
    copy = op.clone()
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    return copy.results[0]


def _visible(scores: Scores, condition: ir.Value, nest: Nest) -> bool:
    """Match `key <= query + offset`, and with it `query + offset - key < window`."""
    queries, keys = list(nest.block.regions[0].blocks[0].arguments)[len(nest.types) - 2 :]
    both = operands_of(condition, "arith.andi")
    pair = _comparison(both[0] if both else condition, _AT_MOST)
    if pair is None or _number(pair[0]) != keys:
        return False
    row = pair[1]
    terms = operands_of(row, "arith.addi")
    if terms is not None:
        row, scores.offset = terms
        if not is_fixed(scores.offset, nest):
            return False
    if _number(row) != queries:
        return False
    scores.causal = True
    if both is None:
        return True
    within = _comparison(both[1], _LESS)
    if within is None:
        return False
    distance = operands_of(within[0], "arith.subi")
    if distance is None or distance[0] != pair[1] or _number(distance[1]) != keys:
        return False
    if operands_of(within[1], "arith.constant") is None:
        return False
    scores.window = ir.IntegerAttr(within[1].owner.operation.attributes["value"]).value
    return True


def _comparison(value: ir.Value, predicate: int) -> list[ir.Value] | None:
    op = defining_op(value, "arith.cmpi")
    if op is None or ir.IntegerAttr(op.attributes["predicate"]).value != predicate:
        return None
    return list(op.operands)


def _number(value: ir.Value) -> ir.Value:
    """Return the iterator of a value, or the value itself."""
    cast = operands_of(value, "arith.index_cast")
    return cast[0] if cast else value


@dataclass(frozen=True)
class Mask:
    """A causal mask: query i sees keys up to `i + offset`, of them the last `window`."""

    offset: Index
    window: int | None


@dataclass(frozen=True)
class ScoreMod:
    """The modification of the scores of a head.

    Attributes:
        use: the arithmetic.
        added: biases.
        seen: a mask of bytes; None if each query sees all keys.
        unseen: the score of a masked key.
        mask: the causal mask; None for none.
    """

    use: Arithmetic
    added: list[Matrix]
    seen: Matrix | None
    unseen: float
    mask: Mask | None

    @property
    def reads(self) -> bool:
        """Whether each score needs a load: of a bias or of a mask."""
        return bool(self.added) or self.seen is not None

    def of_row(self, row: Index) -> dict[Matrix, ir.Value]:
        """Return splats of the operands that are the same for all keys of a query."""
        use = self.use
        result = {x: use.splat(x.one(x.place(row, 0))) for x in self.added if x.column == 0}
        if self.seen is not None and self.seen.column == 0:
            single = self._is_set(self.seen.one(self.seen.place(row, 0)))
            result[self.seen] = use.emit.splat(single, self._masks)
        return result

    def apply(
        self,
        scores: ir.Value,
        at: tuple[Index, Index],
        there: ir.Value,
        row: dict[Matrix, ir.Value],
    ) -> ir.Value:
        """Return modified scores.

        Args:
            scores: of a query and adjacent keys.
            at: numbers of the query and of the first key.
            there: which of the keys there are.
            row: what `of_row` returned.
        """
        use, emit = self.use, self.use.emit
        lowest = emit.constant(use.vector, LOWEST)
        for x in self.added:
            summand = row[x] if x in row else x.load(x.place(*at), there)
            if use.is_single:
                base = emit.constant(use.vector, LOG2_E)
                scores = use.multiply_add(summand, base, scores)
            else:
                scores = use.add(scores, summand)
        x = self.seen
        if x is not None:
            seen = row[x] if x in row else self._is_set(x.load(x.place(*at), there))
            unseen = emit.constant(use.vector, self._scaled(self.unseen))
            scores = emit.select(seen, scores, unseen)
        scores = emit.select(there, scores, lowest)
        if self.mask is None:
            return scores
        last = at[0] - at[1] + self.mask.offset + 1
        upto = emit.mask(last, use.lanes)
        scores = emit.select(upto, scores, lowest)
        if self.mask.window is not None:
            gone = emit.mask(last - self.mask.window, use.lanes)
            scores = emit.select(gone, lowest, scores)
        return scores

    @property
    def _masks(self) -> ir.VectorType:
        return ir.VectorType.get([self.use.lanes], self.use.emit.bool_type)

    def _is_set(self, value: ir.Value) -> ir.Value:
        """Return whether bytes are not zero."""
        emit = self.use.emit
        vector = isinstance(value.type, ir.VectorType)
        other = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
        operands = [value, emit.constant(value.type, 0)]
        type_ = self._masks if vector else emit.bool_type
        return emit.op("arith.cmpi", operands, type_, predicate=other)

    def _scaled(self, score: float) -> float:
        """Return a score times log2(e) for base-2 exponentials; finite scores stay finite."""
        if not self.use.is_single or score in (LOWEST, -LOWEST):
            return score
        return max(-_FAR, min(_FAR, score * LOG2_E))
