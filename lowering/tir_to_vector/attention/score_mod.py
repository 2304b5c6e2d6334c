"""Score modification: bias, mask and scale of scores before the softmax, by vectors."""

from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Matrix
from relax_mlir.lowering.tir_to_vector.index_emit import Index

LOWEST = float("-inf")
LOG2_E = 1.4426950408889634
_FAR = float(np.finfo(np.float32).max)


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
            scores = emit.op("arith.select", [seen, scores, unseen], use.vector)
        scores = emit.op("arith.select", [there, scores, lowest], use.vector)
        if self.mask is None:
            return scores
        last = at[0] - at[1] + self.mask.offset + 1
        upto = emit.mask(last, use.lanes)
        scores = emit.op("arith.select", [upto, scores, lowest], use.vector)
        if self.mask.window is not None:
            gone = emit.mask(last - self.mask.window, use.lanes)
            scores = emit.op("arith.select", [gone, lowest, scores], use.vector)
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
