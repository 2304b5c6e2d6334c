"""Sizes of a contraction's blocks and register tiles, from the caches and from what is known."""

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine

# Steps of k that a block is a multiple of.
_STEP = 4


def k_limit(machine: Machine, panel_bytes: int, rows_bytes: int) -> int:
    """Return how many steps of k a block has at most.

    The rows of A that every panel of B needs again should stay in the first-level cache while a
    panel passes through it; that may be larger than what is left, as it comes in order.

    Args:
        machine: its caches.
        panel_bytes: bytes of a panel for each step of k.
        rows_bytes: bytes of a tile's rows of A for each step of k.
    """
    both = machine.l1_bytes * 15 // 8 // (panel_bytes + rows_bytes)
    rows = machine.l1_bytes * 3 // 4 // rows_bytes
    return max(_STEP, min(both, rows) // 16 * 16)


def n_limit(machine: Machine, steps: int, width: int, element_bytes: int) -> int:
    """Return how many columns a block of B has at most: half of the second-level cache."""
    columns = machine.l2_bytes // 2 // (steps * element_bytes)
    return max(width, columns // width * width)


def k_block(emit: Emitter, extent: Index, limit: int) -> Index:
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
    """A loop over tiles of some rows: its range, and the row at which number 0 would begin."""

    rows: int
    first: Index
    last: Index
    base: Index


@dataclass(frozen=True)
class RowTiles:
    """How rows are cut into register tiles, numbered from the first row on.

    Where their number is known, tiles differ by one row at most and none is left over. Otherwise
    all have the most rows, and the last number stands for what is left.
    """

    emit: Emitter
    rows: Index
    most: int
    rest: tuple[int, ...]

    @property
    def count(self) -> Index:
        """How many tiles there are."""
        if isinstance(self.rows, int):
            return -(-self.rows // self.most)
        return self.emit.add(self.emit.div(self.rows, self.most), 1)

    @property
    def largest(self) -> int:
        """Rows of the largest tile."""
        if not isinstance(self.rows, int):
            return self.most
        return -(-self.rows // max(1, -(-self.rows // self.most)))

    def loops(self, first: Index, last: Index) -> Iterator[TileLoop]:
        """Yield the loops over the tiles from one number on, up to another."""
        emit = self.emit
        if isinstance(self.rows, int):
            count, tile = self.count, self.largest
            assert isinstance(count, int)
            large = count - (count * tile - self.rows)
            for rows, low, high, base in ((tile, 0, large, 0), (tile - 1, large, count, large)):
                if low < high:
                    yield TileLoop(rows, emit.max(first, low), emit.min(last, high), base)
            return
        whole = emit.div(self.rows, self.most)
        yield TileLoop(self.most, first, emit.min(last, whole), 0)
        done = emit.mul(whole, self.most)
        is_last = emit.compare("sgt", last, whole)
        end = emit.select(is_last, self.rows, done)
        for rows in self.rest:
            upto = emit.add(done, emit.mul(emit.div(emit.sub(end, done), rows), rows))
            count = emit.div(emit.sub(upto, done), rows)
            yield TileLoop(rows, 0, count, done)
            done = upto
