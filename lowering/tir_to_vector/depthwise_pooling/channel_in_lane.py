"""Depthwise convolution and pooling of small NCHW planes, with a plane in each lane.

Planes are transposed into a buffer with their borders, so that a vector has the same pixel of
several planes, and sums are transposed back: no lane is wasted by short rows.
"""

import math

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_copied import CopiedNchw
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import DepthwisePool
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import MAX_ELEMENTS, Span
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import inner_dims
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div, round_up
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile

# Pixels of a register tile; pixels of shorter dynamic rows go one by one.
_PIXELS = 4
# Static rows of at most this many pixels are one tile.
_MAX_PIXELS = 8
# Maximal taps of windows on static rows of one tile.
_MAX_ELEMENTS = 64
# Costs in FMAs: of the transpose of a vector of pixels, and of each row that is copied or stored.
_TRANSPOSE_CYCLES, _ROW = 7, 5
# Larger tiles would not fit the registers.
_MAX_LANES = 16


def fits_channel_in_lane(pool: DepthwisePool, machine: Machine) -> bool:
    """Whether planes of dynamic size, or large windows, may have a plane in each lane."""
    flat, lanes = pool.flat, machine.lanes(pool.element)
    if lanes is None or not 1 < lanes <= _MAX_LANES or len(pool.axes) < 3 or not pool.outer:
        return False
    if pool.row is None or flat.init is None or pool.inner:
        return False
    static = all(flat.iters[i].extent.value is not None for i in (pool.row, pool.col))
    if static and not _is_short(pool):
        return False
    *outer, sliding, along = pool.axes
    moving = [i for axis in outer for i in axis.inner]
    if any(flat.iters[i].extent != 1 for i in moving) or pool.row not in sliding.inner:
        return False
    if any(axis.outer or axis.constant for axis in (sliding, along)):
        return False
    planes = flat.iters[pool.outer[-1]].extent.value
    return (
        (planes is None or planes >= lanes) and _rows_are_adjacent(pool) and _is_dense(pool, static)
    )


def _rows_are_adjacent(pool: DepthwisePool) -> bool:
    """Whether rows of outputs are contiguous in all accesses but the image."""
    flat, row, col = pool.flat, pool.row, pool.col
    assert row is not None  # asked before
    return all(
        access.strides[row] == access.strides[col] * flat.iters[col].extent
        for op, access in flat.accesses.items()
        if op not in (*flat.slice, flat.total)
    )


def _is_dense(pool: DepthwisePool, static: bool) -> bool:
    """Whether the taps are few and contiguous; with few taps, static planes are better copied."""
    step = 1
    for i in reversed(pool.reductions):
        extent = pool.flat.iters[i].extent.value
        if extent is None or (pool.weight is not None and pool.weight.strides[i] != step):
            return False
        step *= extent
    return MAX_ELEMENTS < step <= _MAX_ELEMENTS if static else 0 < step <= MAX_ELEMENTS


def _is_short(pool: DepthwisePool) -> bool:
    """Whether rows are one tile, and the image is static."""
    cols = pool.flat.iters[pool.col].extent.value
    sizes = [dim.value for dim in inner_dims(pool.image.buffer)]
    return cols is not None and 0 < cols <= _MAX_PIXELS and None not in sizes


def channel_in_lane_pays(pool: DepthwisePool, emit: Emitter) -> ir.Value | bool:
    """Return whether transposed planes fit L1, and rows would take longer in place."""
    writer = ChannelInLane(pool, emit)
    size, lanes = writer.size + writer.sums_size, writer.lanes
    fit = size * writer.element_bytes
    rows, cols = writer.extent(pool.row), writer.extent(pool.col)
    moved = writer.source_pixels + writer.pixels
    transposed = writer.pixels * writer.taps + moved * _TRANSPOSE_CYCLES
    vectors = ceil_div(cols, lanes)
    copied = (rows + writer.reach[-2]) * (_ROW * pool.stride)
    by_rows = rows * vectors * writer.taps + copied
    by_rows *= lanes
    faster = emit.holds("slt", transposed, by_rows)
    return emit.all_hold((emit.holds("sle", fit, emit.machine.l1_bytes), faster))


class ChannelInLane(CopiedNchw):
    """Writes the kernel: register tiles are a few pixels of several planes."""

    unit: int
    pitch: Index

    def _shape(self) -> None:
        emit, pool, lanes = self.emit, self.pool, self.lanes
        self.strides, self.unit = [], lanes
        height, self.pitch = (emit.max(reach, 1) for reach in self.reach[-2:])
        # Pixels that no window sees go behind the plane.
        self.unseen: Index = height * self.pitch * lanes
        self.size = self.unseen + lanes
        self.pixels: Index = self.extent(pool.row) * self.extent(pool.col)
        self.sums_size: Index = self._rounded(self.pixels) * lanes
        self.source_pixels: Index = self.source_strides[-3]
        self.places_size: Index = self._rounded(self.source_pixels)
        self.distance: Index = 0
        for axis, stride in zip(pool.axes, self.source_strides, strict=True):
            factor = axis.outer.get(pool.outer[-1], 0)
            self.distance += stride * factor
        planes = pool.flat.iters[pool.outer[-1]].extent.value
        self.whole: bool = planes is not None and planes % lanes == 0
        self.taps: int = math.prod(pool.flat.iters[i].extent.value or 1 for i in pool.reductions)

    def _rounded(self, count: Index) -> Index:
        return round_up(count, self.lanes)

    def _planes(self, env: dict[int, Index], spans: dict[int, Span]) -> None:
        emit, last = self.emit, self.pool.outer[-1]
        self.sums: ir.Value = emit.alloc(self.sums_size, self.pool.element)
        self.square: ir.Value = emit.alloc(self.lanes * self.lanes, self.pool.element)
        if self.weight is not None:
            self.window_memory: ir.Value = emit.alloc(self.taps * self.lanes, self.pool.element)
        self._places()
        low, high = spans[last]
        with emit.loop(low, high, self.lanes) as group:
            self.live: Index = emit.min(high - group.counter, self.lanes)
            here = {**env, last: group.counter}
            self._fill(here)
            self._outputs(here)

    def _places(self) -> None:
        """Store where each pixel of a plane goes."""
        emit = self.emit
        self.places: ir.Value = emit.alloc(self.places_size, emit.index_type)
        with emit.loop(0, self.places_size) as at:
            emit.store(emit.index(self.unseen), self.places, [at.counter])
        above, left = self.befores[-2:]
        with emit.loop(0, self.counts[-2]) as row:
            to = (row.counter + above) * self.pitch + left
            at = row.counter * self.source_strides[-2]
            with emit.loop(0, self.counts[-1]) as col:
                place = (to + col.counter) * self.lanes
                emit.store(emit.index(place), self.places, [at + col.counter])

    def _lane(self, lane: int) -> Index:
        """Return the plane of a lane; lanes past the last plane repeat it."""
        return lane if self.whole else self.emit.min(lane, self.live - 1)

    def _copy(self, place: Index, to: Index) -> None:
        emit, lanes = self.emit, self.lanes
        starts = [place + self._lane(lane) * self.distance for lane in range(lanes)]
        with emit.loop(0, self.source_pixels, lanes) as at:
            mask = emit.mask(self.source_pixels - at.counter, lanes)
            vectors = [self.load(start + at.counter, mask) for start in starts]
            for number, value in enumerate(transpose_tile(emit, vectors)):
                target = emit.load(self.places, [at.counter + number])
                emit.vector_store(value, self.plane, [target])

    def _elements(self, env: dict[int, Index]) -> dict[tuple[int, ...], ir.Value | None] | None:
        if self.weight is not None:
            self._transpose_weights(env)
        return super()._elements(env)

    def _transpose_weights(self, env: dict[int, Index]) -> None:
        """Transpose the weights of the planes."""
        emit, lanes, pool = self.emit, self.lanes, self.pool
        assert self.weight is not None  # asked before
        last = pool.outer[-1]
        for first in range(0, self.taps, lanes):
            count = min(lanes, self.taps - first)
            mask = None if count == lanes else emit.mask(count, lanes)
            vectors = []
            for lane in range(lanes):
                there = {**env, last: env[last] + self._lane(lane)}
                place = self.weight.at(there).offset + first
                vectors.append(self.load_window(place, mask))
            for number, value in enumerate(transpose_tile(emit, vectors)[:count]):
                emit.vector_store(value, self.window_memory, [(first + number) * lanes])

    def _element(self, env: dict[int, Index]) -> ir.Value | None:
        if self.weight is None:
            return None
        place: Index = 0
        for i in self.pool.reductions:
            place = place * self.extent(i) + env[i]
        at = place * self.lanes
        return self.emit.vector_load(self.window_memory, [at], self.vector)

    def _tiles(self, env: dict[int, Index]) -> None:
        emit, pool = self.emit, self.pool
        assert pool.row is not None  # asked before
        cols = self.extent(pool.col)
        if isinstance(cols, int) and cols <= _MAX_PIXELS:
            with emit.loop(0, self.extent(pool.row)) as row:
                self._tile({**env, pool.row: row.counter, pool.col: 0}, cols)
            self._transpose_outputs(env)
            return
        many = emit.compare("sge", cols, _PIXELS)
        with emit.loop(0, self.extent(pool.row)) as row:
            here = {**env, pool.row: row.counter}
            with emit.when(many) as branch, emit.loop(0, cols, _PIXELS) as col:
                # The last tile ends with the row, and overlaps the one before.
                first = emit.min(col.counter, cols - _PIXELS)
                self._tile({**here, pool.col: first}, _PIXELS)
            with emit.otherwise(branch), emit.loop(0, cols) as col:
                self._tile({**here, pool.col: col.counter}, 1)
        self._transpose_outputs(env)

    def _tile(self, here: dict[int, Index], count: int) -> None:
        emit, pool = self.emit, self.pool
        assert pool.row is not None  # asked before
        assert pool.flat.init is not None
        sums = [self.splat(pool.flat.init)] * count
        sums = self.window(here, [], pool.reductions, sums)
        first = here[pool.row] * self.extent(pool.col) + here[pool.col]
        at = first * self.lanes
        for number, value in enumerate(sums):
            emit.vector_store(value, self.sums, [at + number * self.lanes])

    def _pixels(self, env: dict[int, Index], count: int) -> list[ir.Value]:
        emit, pool = self.emit, self.pool
        at: Index = 0
        # The taps along a row are static, and last.
        steps = self.pitch * self.lanes, self.lanes
        for axis, step in zip(pool.axes[-2:], steps, strict=True):
            for i, factor in axis.inner.items():
                at += env[i] * (step * factor)
        step = pool.stride * self.lanes
        return [
            emit.vector_load(self.plane, [at + number * step], self.vector)
            for number in range(count)
        ]

    def _transpose_outputs(self, env: dict[int, Index]) -> None:
        """Transpose and store the outputs of the planes."""
        emit, pool, lanes = self.emit, self.pool, self.lanes
        assert pool.row is not None  # asked before
        last = pool.outer[-1]
        with emit.loop(0, self.pixels, lanes) as at:
            mask = emit.mask(self.pixels - at.counter, lanes)
            first = at.counter * lanes
            vectors = [
                emit.vector_load(self.sums, [first + number * lanes], self.vector)
                for number in range(lanes)
            ]
            there = {**env, pool.row: 0, pool.col: at.counter}
            transposed = transpose_tile(emit, vectors)
            if self.whole and (self.finish is None or not self.finish.is_long):
                for lane, value in enumerate(transposed):
                    self.put(value, {**there, last: env[last] + lane}, mask)
                return
            for lane, value in enumerate(transposed):
                emit.vector_store(value, self.square, [lane * lanes])
            with emit.loop(0, self.live) as lane:
                value = emit.vector_load(self.square, [lane.counter * lanes], self.vector)
                self.put(value, {**there, last: env[last] + lane.counter}, mask)
