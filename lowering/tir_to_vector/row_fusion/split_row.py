"""Rows so long that threads share each: sums have parts of one size.

All nests split a row at the same places, so that a thread reads what it wrote itself; only sums of
parts are exchanged, at a barrier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, collapse
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span

# Elements of a part, a multiple of a step, and parts from which on threads share a row.
_PIECE = 1 << 12
_MIN = 2


@dataclass(frozen=True)
class SplitRow:
    """A row in parts.

    Attributes:
        length: its elements.
        own: the parts of a thread; None if one thread has all.
        sums: the buffer of the parts' sums.
    """

    length: int
    own: Span | None = None
    sums: ir.Value | None = None

    @property
    def pieces(self) -> int:
        """The number of parts."""
        return -(-self.length // _PIECE)

    def piece(self, emit: Emitter, number: Index) -> tuple[Index, Index]:
        """Return the range of a part."""
        first = number * _PIECE
        return first, emit.min(first + _PIECE, self.length)

    def span(self, emit: Emitter) -> tuple[Index, Index]:
        """Return the range of this thread's parts."""
        if self.own is None:
            return 0, self.length
        first, last = (number * _PIECE for number in self.own)
        return first, emit.min(last, self.length)


def split_row(group: Sequence[FlatNest], count: int) -> SplitRow | None:
    """Return the parts of a row of some nests; None if it is short or has no such sums.

    Buffers between the nests are kept by rows.
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
    """Whether each step reads only its own place of rows that other nests write."""
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
