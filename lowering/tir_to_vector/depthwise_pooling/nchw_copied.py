"""Depthwise convolution and pooling of NCHW planes that are copied with their borders."""

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import (
    REST_ROWS,
    DepthwisePoolWriter,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

# Maximal rows of a window that are unrolled with those of a tile.
_MAX_DOWN = 11


class CopiedNchw(DepthwisePoolWriter):
    """Writes the kernel: register tiles are a vector wide and several rows high.

    Attributes:
        strides: of all dimensions of a copy but the last.
    """

    strides: list[Index]

    def _shape(self) -> None:
        pool = self.pool
        self.down: int | None = self._window_rows()
        self.phase: Index = self._phase_size(self.reach[-1])
        self.strides = []
        size = self.phase * pool.stride
        for axis, reach in reversed(list(zip(pool.axes[:-1], self.reach, strict=False))):
            self.strides.insert(0, size)
            if not isinstance(self.extent(pool.row), int):
                # The last tile may begin at the last row.
                step = 0 if pool.row is None else axis.inner.get(pool.row, 0)
                reach += step * (REST_ROWS - 1)
            size *= reach
        self.size = size

    def write(self) -> None:
        """Write the loops."""
        emit, pool = self.emit, self.pool
        order = self._longest_first()
        dims = [ParallelDim(self.extent(i)) for i in order] or [ParallelDim(1)]
        with ExitStack() as loops:
            ranges = loops.enter_context(emit.parallel_region(dims, work_of(emit, pool.flat, 1)))
            spans = dict(zip(order, ranges, strict=False))
            self.plane: ir.Value = self._filled(self.size, pool.fill)
            env: dict[int, Index] = {}
            for position in pool.outer:
                env[position] = loops.enter_context(emit.each_step(*spans[position]))
            self._fill(env)
            self._outputs(env)

    def _fill(self, env: dict[int, Index]) -> None:
        """Copy a plane to the buffer, whose border stays."""
        place, to = self.plane_at(env), self.start
        with ExitStack() as loops:
            for d, stride in enumerate(self.strides):
                step = loops.enter_context(self.emit.each_step(0, self.counts[d]))
                place += step * self.source_strides[d]
                to += (step + self.befores[d]) * stride
            self._copy(place, to)

    def _copy(self, place: Index, to: Index) -> None:
        # The border after a row was filled before, and stays.
        other = self._fill_value()

        def load(at: Index, masks: Sequence[ir.Value | None]) -> list[ir.Value]:
            first = place + at
            return [self.load(first + v * self.lanes, mask, other) for v, mask in enumerate(masks)]

        self._store_phases(self.plane, to, self.phase, load)

    def _outputs(self, env: dict[int, Index]) -> None:
        """Write the outputs of a plane."""
        pool = self.pool
        slides = {i for axis in pool.axes for i in axis.inner}
        channels = [i for i in pool.inner if i not in slides]
        with ExitStack() as loops:
            for position in [*channels, *(i for i in pool.inner if i in slides)]:
                env[position] = loops.enter_context(self.emit.each_step(0, self.extent(position)))
            self.elements: dict[tuple[int, ...], ir.Value | None] | None = self._elements(env)
            rows, cols = self.extent(pool.row), self.extent(pool.col)
            for done, upto, height, guarded in self._row_ranges(0, rows):
                with self.emit.loop(done, upto, height) as loop:
                    left = rows - loop.counter if guarded else height
                    tile = partial(self._tile, env, (height, left), loop.counter)
                    self.emit.each_vector(0, cols, self.lanes, tile)

    def _tile(
        self, env: dict[int, Index], height: tuple[int, Index], row: Index, col: Index,
        mask: ir.Value | None,
    ) -> None:  # fmt: skip
        """Write a tile of rows, of which the second number exist."""
        emit, pool = self.emit, self.pool
        init, (rows, left) = pool.flat.init, height
        places = [self.output(env, row + r, col) for r in range(rows)]
        if init is None:
            at = [[self.out.at(there).offset] for there in places]
            sums = [emit.vector_load(self.out.base, each, self.vector, mask) for each in at]
        else:
            sums = [self.splat(init)] * rows
        if self.elements is None and self.down is not None:
            others = [i for i in pool.reductions if i != self.down]
            sums = self._by_columns(places[0], others, sums)
        else:
            sums = self._window(places[0], pool.reductions, sums)
        for number, (there, value) in enumerate(zip(places, sums, strict=True)):
            if number == 0 or isinstance(left, int):
                self.put(value, there, mask)
                continue
            with emit.when(emit.compare("slt", number, left)):
                self.put(value, there, mask)

    def _window_rows(self) -> int | None:
        """Return the reduction along which windows slide as a tile's rows do, if it is short."""
        pool = self.pool
        for axis in pool.axes[:-1]:
            if pool.row not in axis.inner:
                continue
            along = [i for i in axis.inner if i in pool.reductions]
            extent = pool.flat.iters[along[0]].extent.value if len(along) == 1 else None
            return along[0] if extent is not None and extent <= _MAX_DOWN else None
        return None

    def _by_columns(
        self, env: dict[int, Index], left: list[int], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Sum a large window a column at a time: each pixel goes to all rows that see it."""
        emit, pool, down = self.emit, self.pool, self.down
        if left:
            position, *rest = left
            with emit.loop(0, self.extent(position), 1, sums, KEEP) as loop:
                inner = {**env, position: loop.counter}
                loop.carry(self._by_columns(inner, rest, loop.carried))
            return loop.results
        assert down is not None  # asked before
        assert pool.row is not None
        size = pool.flat.iters[down].extent.value or 1
        elements = [self._element({**env, down: step}) for step in range(size)]
        axis, stride = next(
            each for each in zip(pool.axes, self.strides, strict=False) if pool.row in each[0].inner
        )
        step, factor = axis.inner[pool.row], axis.inner[down]
        uses: dict[int, list[tuple[int, int]]] = {}
        for row, number in itertools.product(range(len(sums)), range(size)):
            uses.setdefault(row * step + number * factor, []).append((row, number))
        corner, sums = self._place({**env, down: 0}, 0), list(sums)
        for offset in sorted(uses):
            at = corner + offset * stride
            pixel = emit.vector_load(self.plane, [at], self.vector)
            for row, number in uses[offset]:
                sums[row] = self.combined(sums[row], pixel, elements[number])
        return sums

    def _window(
        self, env: dict[int, Index], left: list[int], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Sum a window; its taps, or those of its rows, are unrolled.

        Args:
            env: counters at the tile's first output, and of the taps.
            left: the reductions that have no counter yet.
            sums: the sums of the tile so far.
        """
        emit, pool = self.emit, self.pool
        if not left:
            return self._step(env, sums)
        position, *rest = left
        extent = self.extent(position)
        along = position in pool.axes[-1].inner and isinstance(extent, int)
        if self.elements is None and not along:
            with emit.loop(0, extent, 1, sums) as loop:
                inner = {**env, position: loop.counter}
                loop.carry(self._window(inner, rest, loop.carried))
            return loop.results
        assert isinstance(extent, int)
        for step in range(extent):
            sums = self._window({**env, position: step}, rest, sums)
        return sums

    def _step(self, env: dict[int, Index], sums: list[ir.Value]) -> list[ir.Value]:
        emit, known = self.emit, self.elements
        steps = tuple(env[i] for i in self.pool.reductions)
        element = self._element(env) if known is None else known[steps]
        places = [self._place(env, row) for row in range(len(sums))]
        pixels = [emit.vector_load(self.plane, [place], self.vector) for place in places]
        return [
            self.combined(total, pixel, element) for total, pixel in zip(sums, pixels, strict=True)
        ]

    def _place(self, env: dict[int, Index], below: int) -> Index:
        """Return the place of the pixels of a row of the tile, `below` rows below the first."""
        pool = self.pool
        *outer, last = pool.axes
        shift: Index = 0
        for i, factor in last.inner.items():
            if i != pool.col:
                shift += env[i] * factor
        quotient = shift // pool.stride
        phase = shift - quotient * pool.stride
        along = phase * self.phase + (env[pool.col] + quotient)
        place = self.start + along
        for axis, stride in zip(outer, self.strides, strict=True):
            index: Index = 0
            for i, factor in axis.inner.items():
                at = env[i] + below if i == pool.row else env[i]
                index += at * factor
            place += index * stride
        return place
