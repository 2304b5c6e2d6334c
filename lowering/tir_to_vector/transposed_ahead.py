"""Blocks of a transposition that goes past the cache, and fetching what the next one reads."""

from typing import TYPE_CHECKING

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index

if TYPE_CHECKING:
    from relax_mlir.lowering.tir_to_vector.transposed import TransposeWriter

_LINE = 64
# Lines of each row that a block reads: memory gives adjacent ones in the least time.
_LINES = 16
# Vectors that it writes of each row: more rows read would not be open in memory at once.
_VECTORS = 4


class Ahead:
    """Asks for the next block line by line and row by row, some lines with each tile of this one.

    Tiles read across the rows, in whose order neither memory nor what foresees loads is quick.

    Args:
        writer: of the nest, whose blocks these are.
        env: counters of the outer iterators.
        size: bytes of an element that is read.
        rows: what the tiles read of each row, from where to where.
    """

    def __init__(
        self, writer: "TransposeWriter", env: dict[int, Index], size: int,
        rows: tuple[Index, Index],
    ) -> None:  # fmt: skip
        self._writer, self._env, self._rows = writer, env, rows
        self._line = _LINE // size
        self.run, self.size = _VECTORS * writer.lanes, _LINES * self._line
        extent = writer.flat.iters[writer.across].extent.value
        # Shorter rows have no such lines.
        self._pays = extent is None or extent >= self.size

    def begin(self, right: tuple[Index, Index], down: tuple[Index, Index]) -> None:
        """Set where a block is, by the ranges of what it writes along and across."""
        emit = self._writer.emit
        self._first = (right[0], down[0])
        more = emit.compare("slt", down[1], self._rows[1])
        further = emit.add(right[0], self.run)
        self._next = (
            emit.select(more, emit.index(right[0]), emit.index(further)),
            emit.select(more, emit.index(down[1]), emit.index(self._rows[0])),
        )

    def fetch(self, op: ir.Operation, column: Index, row: Index) -> None:
        """Ask for what belongs to a tile, of what one of the loads reads."""
        if not self._pays:
            return
        writer, emit = self._writer, self._writer.emit
        lanes = writer.lanes
        each = lanes * lanes // self._line
        steps = [
            emit.div(emit.sub(at, first), lanes)
            for at, first in zip((column, row), self._first, strict=True)
        ]
        tile = emit.add(emit.mul(steps[1], _VECTORS), steps[0])
        number = emit.div(tile, _LINES // each)
        part = emit.sub(tile, emit.mul(number, _LINES // each))
        where = {
            **self._env,
            writer.along: emit.add(self._next[0], number),
            writer.across: emit.add(self._next[1], emit.mul(part, each * self._line)),
        }
        place, _ = writer._address(op, where, 0)
        for line in range(each):
            at = emit.add(place, line * self._line)
            emit.prefetch(writer.bases[op], at, far=True)
