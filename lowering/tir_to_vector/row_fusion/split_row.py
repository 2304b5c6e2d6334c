"""Rows so long that threads share each: every sum is made of pieces of one size, whoever adds them.

All nests of a row split it at the same places, so that a thread reads what it wrote itself; only
sums of pieces are handed on, at a barrier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, collapse
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Elements of a piece, a multiple of what a step takes, and how many pieces make a row long.
_PIECE = 1 << 12
_MIN = 2


@dataclass(frozen=True)
class SplitRow:
    """A row in pieces.

    Attributes:
        length: its elements.
        own: the pieces that a thread takes; None where one thread takes all.
        sums: where threads leave the sums of their pieces.
    """

    length: int
    own: tuple[Index, Index] | None = None
    sums: ir.Value | None = None

    @property
    def pieces(self) -> int:
        """How many there are."""
        return -(-self.length // _PIECE)

    def piece(self, emit: Emitter, number: Index) -> tuple[Index, Index]:
        """Return where a piece begins and ends."""
        first = emit.mul(number, _PIECE)
        return first, emit.min(emit.add(first, _PIECE), self.length)

    def span(self, emit: Emitter) -> tuple[Index, Index]:
        """Return where the pieces of this thread begin and end."""
        if self.own is None:
            return 0, self.length
        first, last = (emit.mul(number, _PIECE) for number in self.own)
        return first, emit.min(last, self.length)


def split_row(group: Sequence[FlatNest], count: int) -> SplitRow | None:
    """Return what a row of some nests is in pieces; None where it is short, or has no such sums.

    Args:
        group: the nests; what goes between them is kept by rows.
        count: their shared loops.
    """
    lengths = set()
    inside = [collapse(flat, count) for flat in group]
    for inner in inside:
        kept = inner.accesses[inner.store].in_rows
        if len(inner.iters) > count + 1 or (inner.total is not None and inner.init is None):
            return None
        if len(inner.iters) == count:
            if not kept:
                return None
            continue
        it = inner.iters[count]
        if it.extent.value is None or (it.reduction and not kept):
            return None
        lengths.add(it.extent.value)
    if len(lengths) != 1 or all(flat.total is None for flat in group):
        return None
    (length,) = lengths
    return SplitRow(length) if length >= _MIN * _PIECE and _read_in_place(inside, count) else None


def _read_in_place(inside: Sequence[FlatNest], count: int) -> bool:
    """Whether of what other nests write along a row each step reads the place of its own."""
    for flat in inside:
        if len(flat.iters) == count or flat.iters[count].reduction:
            continue
        made = flat.accesses[flat.store]
        for other in inside:
            for access in other.accesses.values():
                if access.buffer != made.buffer:
                    continue
                walks = len(other.iters) > count and access.strides[count] == made.strides[count]
                if not walks or access.offset != made.offset:
                    return False
    return True
