"""Blocks of a transposition that goes past the cache, and fetching what the next one reads."""

from typing import TYPE_CHECKING

from relax_mlir.lowering.tir_to_vector.index_emit import Index

if TYPE_CHECKING:
    from relax_mlir.lowering.tir_to_vector.maps.transposed import TransposeWriter

_LINE = 64
# Lines of each row that a block reads: memory gives adjacent ones in the least time.
_LINES = 16
# Rows that it reads, at least two vectors: of rows whose distance is a power of two more would not
# stay in the second-level cache beside those of the next block. Plain stores do better with more.
_ROWS, _ROWS_PLAIN = 48, 64


class Ahead:
    """Asks for the next block line by line and row by row, some lines with each tile of this one.

    Tiles read across the rows, in whose order neither memory nor what foresees loads is quick.

    Args:
        writer: of the nest, whose blocks these are.
        env: counters of the outer iterators.
        size: bytes of an element that is read.
        rows: what the tiles read of each row, from where to where.
        past_cache: whether its stores go past the cache.
    """

    run: int
    size: int

    def __init__(
        self, writer: "TransposeWriter", env: dict[int, Index], size: int,
        rows: tuple[Index, Index], *, past_cache: bool,
    ) -> None:  # fmt: skip
        self._writer, self._env, self._rows = writer, env, rows
        self._line = _LINE // size
        self._vectors = max((_ROWS if past_cache else _ROWS_PLAIN) // writer.lanes, 2)
        self.run, self.size = self._vectors * writer.lanes, _LINES * self._line
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

    def at(self, column: Index, row: Index) -> None:
        """Set which tile is next; what belongs to it of the next block is asked for beside it."""
        self._places = {}
        if not self._pays:
            return
        writer, emit = self._writer, self._writer.emit
        self._each = writer.lanes * writer.height // self._line
        steps = [
            emit.div(emit.sub(at, first), size)
            for at, first, size in zip(
                (column, row), self._first, (writer.lanes, writer.height), strict=True
            )
        ]
        tile = emit.add(emit.mul(steps[1], self._vectors), steps[0])
        number = emit.div(tile, _LINES // self._each)
        part = emit.sub(tile, emit.mul(number, _LINES // self._each))
        where = {
            **self._env,
            writer.along: emit.add(self._next[0], number),
            writer.across: emit.add(self._next[1], emit.mul(part, self._each * self._line)),
        }
        for op in filter(writer._reads_across, writer.flat.accesses):
            self._places[op], _ = writer._address(op, where, 0)

    def fetch(self, row: int) -> None:
        """Ask for what goes with one of the rows that a tile stores.

        Between stores, as what is asked for all at once may be forgotten.
        """
        writer, emit = self._writer, self._writer.emit
        for op, place in self._places.items():
            for line in range(row, self._each, writer.height):
                emit.prefetch(writer.bases[op], emit.add(place, line * self._line), far=True)

    def fetch_all(self) -> None:
        """Ask for all that goes with a tile."""
        for row in range(self._writer.height):
            self.fetch(row)
