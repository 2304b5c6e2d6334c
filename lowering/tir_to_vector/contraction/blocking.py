"""Cache blocking and row tiles of a GEMM."""

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div, larger, round_up

# Blocks of k are multiples of this many steps.
_STEP = 4
# Bytes of a page, which is also a way of L1, and of a cache line.
PAGE, _LINE = 4096, 64
# Minimal rows of tiles that are made smaller so that threads get equal numbers.
_SHARED = 5


def max_kc(room: int, rows_bytes: int) -> int:
    """Return the maximal steps of k of a block.

    The rows of A of a tile stay in L1 while panels of B stream through it.

    Args:
        room: bytes of L1 for rows of A.
        rows_bytes: bytes of a tile's rows of A for each step of k.
    """
    return max(_STEP, room // rows_bytes // 16 * 16)


def has_set_conflicts(rows: int, stride: int, length: int, ways: int) -> bool:
    """Return whether rows that are read side by side conflict in L1 sets.

    Lines at the distance of a page share a set. Rows with other strides share too few sets to
    matter.

    Args:
        rows: the number of rows.
        stride: bytes from one row to the next.
        length: bytes of each.
        ways: ways of a set that rows may use.
    """
    if stride % (PAGE // 4) != 0:
        return False
    sets = [0] * (PAGE // _LINE)
    for row in range(rows):
        first = row * stride
        for line in range(first // _LINE, ceil_div(first + length, _LINE)):
            sets[line % len(sets)] += 1
    return max(sets) > ways


def max_nc(room: int, steps: Index, width: int, size: int) -> Index:
    """Return the maximal columns of a block of B, by the bytes of its panels.

    Args:
        room: bytes for the panels of a block.
        steps: steps of k of a block, or groups of them.
        width: columns of a panel; blocks have whole panels.
        size: bytes of an element.
    """
    columns = room // size // larger(steps, 1)
    return round_up(columns, width)


def balanced_nc(extent: Index, most: Index, width: int) -> Index:
    """Return the columns of a block: blocks of n are equal but for the last."""
    count = larger(ceil_div(extent, most), 1)
    size = ceil_div(extent, count)
    return larger(round_up(size, width), width)


def balanced_kc(extent: Index, limit: int) -> Index:
    """Return the steps of a block: blocks of k are equal but for the last."""
    count = larger(ceil_div(extent, limit), 1)
    size = ceil_div(extent, count)
    return size if count == 1 else larger(round_up(size, _STEP), _STEP)


@dataclass(frozen=True)
class TileLoop:
    """A loop over row tiles of one size.

    Attributes:
        rows: rows of each.
        first, last: the range of tile numbers.
        base: the row of tile number 0.
        partial: whether the last tile may be partial.
    """

    rows: int
    first: Index
    last: Index
    base: Index
    partial: bool = False


@dataclass(frozen=True)
class RowTiles:
    """How rows are cut into register tiles.

    Static rows give tiles that differ by one row at most. Dynamic rows give tiles of `most` rows
    and of one row less, as most numbers are sums of both, then smaller ones for the tail, with at
    most one row of waste.

    Attributes:
        emit: where loops are written.
        rows: the number of rows.
        most: the maximal rows of a tile.
        full: whether all tiles but those of the tail have `most` rows.
        single: whether the tail may have tiles of one row: one more code size.
        threads: threads that share the tiles; static rows are cut so that all get as many tiles.
    """

    emit: Emitter
    rows: Index
    most: int
    full: bool = False
    single: bool = True
    threads: int = 1

    @property
    def count(self) -> Index:
        """The number of tiles."""
        if isinstance(self.rows, int):
            count = ceil_div(self.rows, self.most)
            shared = round_up(count, self.threads)
            enough = not self.full and self.rows >= shared * _SHARED
            return shared if enough else count
        if self.full:
            return ceil_div(self.rows, self.most)
        return sum(count for _, count in self._plan())

    @property
    def largest(self) -> int:
        """Rows of the largest tile."""
        if not isinstance(self.rows, int):
            return self.most
        if self.full:
            return min(self.rows, self.most)
        count = self.count
        assert isinstance(count, int)
        return ceil_div(self.rows, max(1, count))

    def loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        """Yield the loops over a range of tiles."""
        emit = self.emit
        if isinstance(self.rows, int):
            count, tile = self.count, self.largest
            assert isinstance(count, int)
            large = count - (count * tile - self.rows)
            tiles = ((tile, 0, large, 0), (tile - 1, large, count, large))
            if self.full and tile:
                large, left = divmod(self.rows, tile)
                tiles = ((tile, 0, large, 0), (left, large, count, large * (tile - left)))
            for rows, low, high, base in tiles:
                if low < high:
                    yield TileLoop(rows, emit.max(first, low), emit.min(last, high), base)
            return
        if not self.full:
            yield from self._planned_loops(first, last)
            return
        most, small = self.most, self.most // 2
        large = (self.rows + small - 1) // most
        yield TileLoop(most, first, emit.min(last, large), 0, partial=True)
        done = large * most
        left = emit.max(self.rows - done, 0)
        here = (first <= large) & (large < last)
        count = ceil_div(emit.select(here, left, 0), small)
        yield TileLoop(small, 0, count, done, partial=True)

    def _planned_loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        emit = self.emit
        done: Index = 0
        rows: Index = 0
        for size, count in self._plan():
            upto = done + count
            base = rows - done * size
            partial = 1 < size < self.most - 1
            low, high = emit.max(first, done), emit.min(last, upto)
            yield TileLoop(size, low, high, base, partial)
            done, rows = upto, rows + count * size

    def _plan(self) -> list[tuple[int, Index]]:
        """Return the sizes of tiles, in order, and the number of tiles of each."""
        emit, rows, most = self.emit, self.rows, self.most
        small = max(1, most // 3)
        large, less = rows // most, 0
        for taken in (small, 0):
            many = emit.max(rows - taken, 0)
            count = ceil_div(many, most)
            missing = count * most - many
            fits = missing <= count
            large = emit.select(fits, count - missing, large)
            less = emit.select(fits, missing, less)
        made = [(most, large), (most - 1, less)] if most > 1 else [(most, large)]
        if small >= most - 1:
            return made
        left = rows
        for size, count in made:
            left -= count * size
        left = emit.max(left, 0)
        if not self.single or small == 1:
            return [*made, (small, ceil_div(left, small))]
        few = (left + 1) // small
        rest = emit.max(left - few * small, 0)
        return [*made, (small, few), (1, rest)]
