"""Sizes of a contraction's blocks and register tiles, from the caches and from what is known."""

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Steps of k that a block is a multiple of.
_STEP = 4
# Bytes of a page, which is what a way of the first-level cache holds, and of its lines.
PAGE, _LINE = 4096, 64
# Rows of the largest tile where what is left over is cut into halves and thirds of it.
_HALVED = 9
# Rows that tiles keep at least where there are more of them so that threads have as many.
_SHARED = 5


def max_kc(room: int, rows_bytes: int) -> int:
    """Return how many steps of k a block has at most.

    The rows of A that every panel of B needs again stay in the first-level cache. A panel passes
    through the rest of it; it may be larger than that, as it comes in order.

    Args:
        room: bytes of the first-level cache that rows of A may take.
        rows_bytes: bytes of a tile's rows of A for each step of k.
    """
    return max(_STEP, room // rows_bytes // 16 * 16)


def has_set_conflicts(rows: int, stride: int, length: int, ways: int) -> bool:
    """Return whether rows read side by side would evict each other from the first-level cache.

    Lines as far apart as pages share a set. Where rows begin at places that all differ, what they
    share is less than what copies cost.

    Args:
        rows: how many.
        stride: bytes from one row to the next.
        length: bytes of each.
        ways: lines that a set has for them.
    """
    if stride % (PAGE // 4) != 0:
        return False
    sets = [0] * (PAGE // _LINE)
    for row in range(rows):
        first = row * stride
        for line in range(first // _LINE, -(-(first + length) // _LINE)):
            sets[line % len(sets)] += 1
    return max(sets) > ways


def max_nc(emit: Emitter, machine: Machine, steps: Index, width: int, size: int) -> Index:
    """Return how many columns a block of B has at most, by what its panels may take.

    Args:
        emit: where to write.
        machine: its caches.
        steps: steps of k, or groups of them, that a block has.
        width: columns of a panel, of which a block has whole ones.
        size: bytes of an element.
    """
    columns = emit.div(machine.panel_bytes // size, emit.max(steps, 1))
    return emit.mul(emit.div(emit.add(columns, width - 1), width), width)


def balanced_nc(emit: Emitter, extent: Index, most: Index, width: int) -> Index:
    """Return the columns of each block of n: all blocks but the last have the same."""
    count = emit.max(emit.div(emit.add(extent, emit.sub(most, 1)), most), 1)
    size = emit.div(emit.add(extent, emit.sub(count, 1)), count)
    return emit.max(emit.mul(emit.div(emit.add(size, width - 1), width), width), width)


def balanced_kc(emit: Emitter, extent: Index, limit: int) -> Index:
    """Return the steps of each block of k: all blocks but the last have the same."""
    if isinstance(extent, int):
        count = max(1, -(-extent // limit))
        size = -(-extent // count)
        return size if count == 1 else -(-size // _STEP) * _STEP
    count = emit.max(emit.div(emit.add(extent, limit - 1), limit), 1)
    size = emit.div(emit.add(extent, emit.sub(count, 1)), count)
    return emit.max(emit.round_down(emit.add(size, _STEP - 1), _STEP), _STEP)


@dataclass(frozen=True)
class TileLoop:
    """A loop over tiles of some rows.

    Attributes:
        rows: rows of each.
        first, last: the range of their numbers.
        base: the row at which number 0 would begin.
        step: rows from one tile to the next.
        partial: whether there may be fewer rows than a tile has.
        end: the row at which they end then; None for the last of all.
    """

    rows: int
    first: Index
    last: Index
    base: Index
    step: int
    partial: bool = False
    end: Index | None = None


@dataclass(frozen=True)
class RowTiles:
    """How rows are cut into register tiles, numbered from the first row on.

    Where their number is known, tiles differ by one row at most and none is left over. Otherwise
    all but the last have the most rows; that one has them too, or is made of smaller ones, of which
    the last has one row that is not there at most, unless there is one row in all. With `fine`
    there is code for tiles of one row less than the most too, of which, and of the largest, most
    numbers are sums.

    Attributes:
        emit: where loops over them are written.
        rows: how many rows there are.
        most: rows of a tile at most.
        full: whether all tiles but the last have the most rows where their number is known too.
        single: whether what is left over may be tiles of one row, or of half the most rows: code
            for one more size of tile.
        fine: whether there is code for tiles of one row less than the most.
        threads: threads that share the tiles: where rows are known and enough, all get as many.
        narrow: whether tiles of what is left over have one vector: of fewer rows than four, sums
            would wait for each other.
    """

    emit: Emitter
    rows: Index
    most: int
    full: bool = False
    single: bool = True
    fine: bool = False
    threads: int = 1
    narrow: bool = False

    @property
    def by_row(self) -> bool:
        """Whether ranges are those of rows, not of tiles: any range is cut well."""
        unknown = not isinstance(self.rows, int) and not self.fine and not self.full
        return unknown and self.single and self.most == _HALVED

    def is_narrow(self, tile: int) -> bool:
        """Whether tiles of so many rows have one vector."""
        return self.narrow and self.by_row and tile < self.most

    @property
    def count(self) -> Index:
        """How many tiles there are, or rows where ranges are those of rows."""
        if isinstance(self.rows, int):
            count = -(-self.rows // self.most)
            shared = -(-count // self.threads) * self.threads
            enough = not self.full and self.rows >= shared * _SHARED
            return shared if enough else count
        if self.by_row:
            return self.rows
        if not self.fine:
            return self._pieces(self.rows, self.most)
        total: Index = 0
        for _, count in self._plan():
            total = self.emit.add(total, count)
        return total

    @property
    def largest(self) -> int:
        """Rows of the largest tile."""
        if not isinstance(self.rows, int):
            return self.most
        if self.full:
            return min(self.rows, self.most)
        count = self.count
        assert isinstance(count, int)
        return -(-self.rows // max(1, count))

    def loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        """Yield the loops over the tiles from one number on, up to another, as `count` has them."""
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
                    yield TileLoop(rows, emit.max(first, low), emit.min(last, high), base, rows)
            return
        if self.fine:
            yield from self._fine_loops(first, last)
            return
        most = self.most
        if self.by_row:
            yield from self._halved_loops(first, last)
            return
        small = most // 2 if self.full else max(1, most // 3)
        single = self.single and small > 1 and not self.full
        spare = 1 if single else small - 1
        large = emit.div(emit.add(self.rows, spare), most)
        yield TileLoop(most, first, emit.min(last, large), 0, most, partial=True)
        done = emit.mul(large, most)
        left = emit.max(emit.sub(self.rows, done), 0)
        here = emit.both(emit.compare("sle", first, large), emit.compare("slt", large, last))
        left = emit.select(here, left, 0)
        count = emit.div(emit.add(left, spare), small)
        yield TileLoop(small, 0, count, done, small, partial=True)
        if single:
            more = emit.mul(count, small)
            yield TileLoop(1, 0, emit.sub(left, more), emit.add(done, more), 1)

    def _halved_loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        """Cut a range of rows; what is left over are halves of tiles, rounded up, and thirds.

        Narrow ones are of four rows, or of five where those leave none.

        A single row reads as much of B as a tile does, for a ninth of its products: where one is
        left over, it and the largest tile before it are two halves.
        """
        emit, most = self.emit, self.most
        half, small = most // 2 + 1, most // 2 if self.narrow else most // 3
        rows = emit.sub(last, first)
        large = emit.div(rows if self.narrow else emit.add(rows, 1), most)
        left = emit.sub(rows, emit.mul(large, most))
        alone = emit.both(emit.compare("eq", left, 1), emit.compare("sgt", large, 0))
        large = emit.sub(large, emit.select(alone, 1, 0))
        done = emit.mul(large, most)
        left = emit.max(emit.sub(rows, done), 0)
        if self.narrow:
            halves = emit.select(alone, 2, emit.select(emit.compare("eq", left, half), 1, 0))
        else:
            halves = emit.div(emit.add(left, 1), half)
            halves = emit.select(emit.compare("eq", left, 2 * small), 0, halves)
        taken = emit.mul(halves, half)
        rest = self._pieces(emit.max(emit.sub(left, taken), 0), small)
        base = first
        for size, count in ((most, large), (half, halves), (small, rest)):
            partial = size == small or not self.narrow
            yield TileLoop(size, 0, count, base, size, partial, end=last)
            base = emit.add(base, emit.mul(count, size))

    def _fine_loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        emit = self.emit
        done: Index = 0
        rows: Index = 0
        for size, count in self._plan():
            upto = emit.add(done, count)
            base = emit.sub(rows, emit.mul(done, size))
            partial = 1 < size < self.most - 1
            low, high = emit.max(first, done), emit.min(last, upto)
            yield TileLoop(size, low, high, base, size, partial)
            done, rows = upto, emit.add(rows, emit.mul(count, size))

    def _plan(self) -> list[tuple[int, Index]]:
        """Return the sizes of tiles, in their order, and how many there are of each."""
        emit, rows, most = self.emit, self.rows, self.most
        small = max(1, most // 3)
        large, less = emit.div(rows, most), 0
        for taken in (small, 0):
            many = emit.max(emit.sub(rows, taken), 0)
            count = self._pieces(many, most)
            missing = emit.sub(emit.mul(count, most), many)
            fits = emit.compare("sle", missing, count)
            large = emit.select(fits, emit.sub(count, missing), large)
            less = emit.select(fits, missing, less)
        made = [(most, large), (most - 1, less)] if most > 1 else [(most, large)]
        if small >= most - 1:
            return made
        left = rows
        for size, count in made:
            left = emit.sub(left, emit.mul(count, size))
        left = emit.max(left, 0)
        if not self.single or small == 1:
            return [*made, (small, self._pieces(left, small))]
        few = emit.div(emit.add(left, 1), small)
        rest = emit.max(emit.sub(left, emit.mul(few, small)), 0)
        return [*made, (small, few), (1, rest)]

    def _pieces(self, count: Index, size: int) -> Index:
        return self.emit.div(self.emit.add(count, size - 1), size)
