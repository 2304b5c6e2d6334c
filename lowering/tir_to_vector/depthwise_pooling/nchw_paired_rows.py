"""Depthwise convolution and pooling of NCHW planes in place, two short rows of outputs in a vector.

A row of the image is loaded once; the pixels of both rows that a tap meets are picked from two of
them. The rows are half a tile apart.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_in_place import InPlaceNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import PixelMasks, Span, Tile
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import pick_lanes

# Vectors of a register tile.
_VECTORS = 4
# Common numbers of dynamic rows: those of the last layers for images of 224 pixels.
_COMMON_ROWS = (7,)


def max_paired_columns(pool: DepthwisePool, machine: Machine) -> int:
    """Return the columns of outputs up to which two rows share a vector."""
    lanes = machine.lanes(pool.element)
    if lanes is None or pool.row is None or pool.flat.init is None:
        return 0
    span = 1
    for i, factor in pool.axes[-1].inner.items():
        if i != pool.col:
            span += factor * ((pool.flat.iters[i].extent.value or 1) - 1)
    return max(0, min(lanes // 2, (lanes - span) // pool.stride + 1))


def pairing_pays(pool: DepthwisePool, emit: Emitter, machine: Machine) -> ir.Value | bool:
    """Return whether rows are that short, and there are several."""
    assert pool.row is not None  # asked before
    cols, rows = (emit.size(pool.flat.iters[i].extent) for i in (pool.col, pool.row))
    most = max_paired_columns(pool, machine)
    if isinstance(cols, int) and isinstance(rows, int):
        return cols <= most and rows > 1
    return emit.both(emit.compare("sle", cols, most), emit.compare("sgt", rows, 1))


class PairedRowsNchw(InPlaceNchw):
    """Writes the kernel for short rows."""

    row_mask: ir.Value
    rest_mask: ir.Value

    def _prepare(self) -> None:
        emit, lanes = self.emit, self.lanes
        first, stride = self.shifts[0], self.pool.stride
        self.pixels: PixelMasks = PixelMasks(
            emit, self.machine, lanes, self.counts[-1], stride, sure=0
        )
        mask = emit.mask(emit.sub(self.counts[-1], first), lanes)
        self.row_mask = self.pixels.without(mask, -first) if first < 0 else mask
        self.rest_mask = emit.mask(self.extent(self.pool.col), lanes)
        if not isinstance(self.extent(self.pool.col), int):
            self.row_mask, self.rest_mask = map(self.pixels.kept, (self.row_mask, self.rest_mask))

    def _heights(self, low: Index, high: Index) -> Iterator[tuple[int, bool]]:
        if not isinstance(low, int) or not isinstance(high, int):
            yield 2 * _VECTORS, True
            return
        rows = high - low
        if rows >= 2 * _VECTORS:
            yield 2 * _VECTORS, False
        if rows % (2 * _VECTORS):
            yield rows % (2 * _VECTORS), False

    def _all(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write the rows of outputs of some planes."""
        self._prepare()
        self._row_counts(spans, low, high, () if isinstance(high, int) else _COMMON_ROWS)

    def _row_counts(
        self, spans: dict[int, Span], low: Index, high: Index, common: Sequence[int]
    ) -> None:
        """Write rows, with separate code for a common number of rows."""
        if not common:
            self._tiles(spans, low, high)
            return
        emit, (rows, *others) = self.emit, common
        with emit.when(self._has_rows(rows, low, high)) as branch:
            counts = list(self.counts)
            if self.below:
                self.counts[-2] = self._usual_rows(rows)
            self._tiles(spans, 0, rows)
            self.counts = counts
        with emit.otherwise(branch):
            self._row_counts(spans, low, high, others)

    def _has_rows(self, rows: int, low: Index, high: Index) -> ir.Value:
        """Return whether there are `rows` rows, of an image with a matching number."""
        emit = self.emit
        same = emit.both(emit.compare("eq", low, 0), emit.compare("eq", high, rows))
        if not self.below:
            return same
        return emit.both(same, emit.compare("eq", self.counts[-2], self._usual_rows(rows)))

    def _usual_rows(self, rows: int) -> int:
        return min(rows * self.step, (rows - 1) * self.step + self.max_down + 1 - self.above)

    def _tiles(self, spans: dict[int, Span], low: Index, high: Index) -> None:
        """Write tiles one after the other, each of all planes, which share its masks."""
        emit = self.emit
        for tile in self._row_tiles(low, high):
            half = (tile.rows + 1) // 2
            known = isinstance(tile.left, int)
            below, above = (half, tile.rows - half) if known else (tile.left, tile.left)
            lower = Tile(tile.row, half, below)
            upper = Tile(emit.add(tile.row, half), half, above)
            tops, bottoms = ([*self._image_rows(part)] for part in (lower, upper))
            masks = [
                [(live, self.live_mask(self.row_mask, live)) for _, live, _ in seen]
                for seen in (tops, bottoms)
            ]
            with self._planes(spans) as env:
                corner = emit.add(self.start, self.shifts[0])
                places = [
                    self._walk(part.row, corner, seen)
                    for part, seen in ((lower, tops), (upper, bottoms))
                ]
                rows = zip(zip(*places, strict=True), zip(*masks, strict=True), tops, strict=True)
                sums = [self.splat(self.pool.flat.init)] * half
                for ats, pair, (_, _, uses) in rows:
                    pixels = [
                        self.load_live(at, mask, live is not False)
                        for at, (live, mask) in zip(ats, pair, strict=True)
                    ]
                    picked = {x: self._picked(pixels, x) for x in {use.shift: 0 for use in uses}}
                    self._take(sums, uses, picked.__getitem__)
                self._store_halves(env, tile, sums)

    def _store_halves(self, env: dict[int, Index], tile: Tile, sums: list[ir.Value]) -> None:
        lanes = self.lanes
        rotated = [*range(lanes // 2, lanes), *range(lanes // 2)]
        high = [self.emit.shuffle(value, value, rotated) for value in sums]
        rows = [*sums, *high][: tile.rows]
        self._store(env, replace(tile, mask=self.rest_mask), rows)

    def _picked(self, pixels: list[ir.Value], shift: int) -> ir.Value:
        """Return the pixels that a tap meets, of both rows."""
        lanes, stride = self.lanes, self.pool.stride
        picks: list[tuple[int, int] | None] = []
        for row, col in itertools.product(range(2), range(lanes // 2)):
            lane = col * stride + shift - self.shifts[0]
            picks.append((row, lane) if lane < lanes else None)
        return pick_lanes(self.emit, pixels, picks)
