"""Depthwise convolution and pooling of NCHW planes with short rows: several rows fill a vector.

In the buffer rows are contiguous, sorted by their remainders to the strides of the window.
Neighbours share a border that is wide enough for both.
"""

from dataclasses import dataclass
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_copied import CopiedNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import MAX_ELEMENTS
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import pick_lanes

# Vectors of a register tile.
_MAX_VECTORS = 8
# Maximal rows of the image, which are unrolled.
_MAX_ROWS = 64


@dataclass(frozen=True)
class PackedRows:
    """The layout of packed rows.

    Attributes:
        rows, cols: of the outputs.
        step: the distance of the rows that neighbouring outputs see.
        height: elements along the rows' dimension that windows see, with the border.
        inside: which of them are in the image, along rows and columns.
        before: how many are before the image.
        pitch: elements from one row to the next.
        together: rows of outputs in a vector.
    """

    rows: int
    cols: int
    step: int
    height: int
    inside: tuple[int, int]
    before: tuple[int, int]
    pitch: int
    together: int


def packed_rows(pool: DepthwisePool, machine: Machine) -> PackedRows | None:
    """Return the layout of packed rows, None if rows are not packed."""
    flat, lanes = pool.flat, machine.lanes(pool.element)
    if lanes is None or pool.row is None or flat.init is None or len(pool.axes) < 2:
        return None
    sliding, along = pool.axes[-2:]
    taps = [flat.iters[i].extent.value for i in pool.reductions]
    rows, cols = (flat.iters[i].extent.value for i in (pool.row, pool.col))
    if rows is None or cols is None or not cols < lanes or pool.row not in sliding.inner:
        return None
    if any(i != pool.row and i not in pool.reductions for i in sliding.inner):
        return None
    count = 1
    for tap in taps:
        count *= MAX_ELEMENTS + 1 if tap is None else tap
    if not 0 < count <= MAX_ELEMENTS or not rows_adjacent(pool, cols):
        return None
    height, width = (
        1
        + sum(factor * ((flat.iters[i].extent.value or 1) - 1) for i, factor in axis.inner.items())
        for axis in (sliding, along)
    )
    before, inside = (0, 0), (height, width)
    if pool.padded is not None:
        before = (pool.padded.before[-2], pool.padded.before[-1])
        sizes = [size.value for size in pool.padded.sizes[-2:]]
        if None in sizes:
            return None
        inside = (min(height - before[0], sizes[0] or 0), min(width - before[1], sizes[1] or 0))
    if min(inside) < 1 or inside[0] > _MAX_ROWS:
        return None
    pitch = -(-width // pool.stride)
    if pool.stride == 1:
        # The border after a row may be the one before the next.
        pitch = inside[1] + max(before[1], width - before[1] - inside[1])
    together = min((lanes - cols) // pitch + 1, rows)
    if together < 2 or rows < 2:
        return None
    step = sliding.inner[pool.row]
    return PackedRows(rows, cols, step, height, inside, before, pitch, together)


def _reach(flat: FlatNest, inner: dict[int, int]) -> int:
    return 1 + sum(factor * ((flat.iters[i].extent.value or 1) - 1) for i, factor in inner.items())


def rows_adjacent(pool: DepthwisePool, cols: int | SymExpr) -> bool:
    """Whether rows of outputs are contiguous in all accesses but the image."""
    flat: FlatNest = pool.flat
    own = (*flat.slice, flat.total)
    assert pool.row is not None  # asked before
    return all(
        access.strides[pool.row] == access.strides[pool.col] * cols
        for op, access in flat.accesses.items()
        if op not in own
    )


class PackedRowsNchw(CopiedNchw):
    """Writes the kernel: register tiles are vectors of a few rows each."""

    packed: PackedRows

    def _shape(self) -> None:
        rows = packed_rows(self.pool, self.machine)
        assert rows is not None  # asked before
        self.packed, lanes = rows, self.lanes
        # Vectors that begin in the last row end beyond it.
        part = -(-rows.height // rows.step) * rows.pitch + 2 * lanes
        self.part: int = -(-part // lanes) * lanes
        self.strides = []
        size: Index = self.part * rows.step * self.pool.stride
        for reach in reversed(self.reach[:-2]):
            self.strides.insert(0, size)
            size = self.emit.mul(size, reach)
        self.size = size

    def _at(self, row: int, col: int) -> int:
        """Return the place of an element, by its row and its column."""
        rows, stride = self.packed, self.pool.stride
        (down, y), (right, x) = divmod(row, rows.step), divmod(col, stride)
        return (y * stride + x) * self.part + down * rows.pitch + right

    def _copy(self, place: Index, to: Index) -> None:
        rows, lanes, stride = self.packed, self.lanes, self.pool.stride
        (above, left), (height, width) = rows.before, rows.inside
        filled = (left + width - 1) // stride + 1
        at_once = max(1, (lanes - filled) // rows.pitch + 1)
        for y, start in product(range(rows.step), range(0, rows.height, rows.step * at_once)):
            numbers = [start + y + i * rows.step - above for i in range(at_once)]
            known = {number: self._row(place, number) for number in numbers if 0 <= number < height}
            if not known:
                continue
            for x in range(stride):
                picks = {}
                for i, number in enumerate(numbers):
                    for q in range(rows.pitch if number in known else 0):
                        col = q * stride + x - left
                        if 0 <= col < width and i * rows.pitch + q < lanes:
                            picks[i * rows.pitch + q] = number, col
                target = self.emit.add(to, self._at(start + y, x))
                self.emit.vector_store(self._picked(known, picks), self.plane, [target])

    def _row(self, place: Index, number: int) -> list[ir.Value]:
        """Load a row of the image."""
        emit, lanes, width = self.emit, self.lanes, self.packed.inside[1]
        first = emit.add(place, emit.mul(number, self.source_strides[-2]))
        vectors = []
        for at in range(0, width, lanes):
            mask = None if at + lanes <= width else emit.mask(width - at, lanes)
            vectors.append(self.load(emit.add(first, at), mask, self._fill_value()))
        return vectors

    def _picked(
        self, rows: dict[int, list[ir.Value]], picks: dict[int, tuple[int, int]]
    ) -> ir.Value:
        """Return a vector of elements of rows, by lane, and of padding."""
        lanes, starts, vectors = self.lanes, {}, []
        for number, parts in rows.items():
            starts[number] = len(vectors)
            vectors += parts
        # Lanes that are masked off hold padding.
        rest = self.packed.inside[1] % lanes
        fill = (len(vectors) - 1, rest) if rest else (len(vectors), 0)
        places = []
        for lane in range(lanes):
            number, col = picks.get(lane, (-1, 0))
            picked = lane in picks
            places.append((starts[number] + col // lanes, col % lanes) if picked else fill)
        return pick_lanes(self.emit, [*vectors, self._fill_value()], places)

    def _tiles(self, env: dict[int, Index]) -> None:
        pool, rows, lanes = self.pool, self.packed, self.lanes
        assert pool.row is not None  # asked before
        assert pool.flat.init is not None
        whole = rows.together * _MAX_VECTORS
        for first in range(0, rows.rows, whole):
            starts = range(first, min(first + whole, rows.rows), rows.together)
            here = {**env, pool.row: first, pool.col: 0}
            sums = [self.splat(pool.flat.init)] * len(starts)
            sums = self.window(here, [], pool.reductions, sums)
            for start, value in zip(starts, sums, strict=True):
                live = min(rows.together, rows.rows - start) * rows.cols
                picks: list[tuple[int, int] | None] = [None] * lanes
                for lane in range(live):
                    down, right = divmod(lane, rows.cols)
                    picks[lane] = 0, down * rows.pitch + right
                mask = None if live == lanes else self.emit.mask(live, lanes)
                value = pick_lanes(self.emit, [value], picks)
                self.put(value, {**here, pool.row: start}, mask)

    def _pixels(self, env: dict[int, Index], count: int) -> list[ir.Value]:
        emit, pool, rows = self.emit, self.pool, self.packed
        *outer, sliding, along = pool.axes
        place = self.start
        for axis, stride in zip(outer, self.strides, strict=True):
            for i, factor in axis.inner.items():
                place = emit.add(place, emit.mul(emit.mul(env[i], factor), stride))
        shifts = [0, 0]
        for number, axis in enumerate((sliding, along)):
            for i, factor in axis.inner.items():
                step = env[i]
                assert isinstance(step, int)  # elements of the window are written out
                shifts[number] += step * factor
        place = emit.add(place, self._at(*shifts))
        step = rows.together * rows.pitch
        return [
            emit.vector_load(self.plane, [emit.add(place, v * step)], self.vector)
            for v in range(count)
        ]
