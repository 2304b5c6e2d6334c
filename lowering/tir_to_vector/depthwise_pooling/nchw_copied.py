"""Depthwise convolution and pooling of NCHW planes that are copied with their borders."""

import itertools
from contextlib import ExitStack
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.control_flow import AS_IT_IS, KEEP
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
        self.phase = self._phase_size(self.reach[-1])
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
            self.plane = self._filled(self.size, pool.fill)
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
            # The border after a row was filled before, and stays.
            other = self._fill_value()
            self._store_phases(to, lambda at, masks: self._adjacent(place + at, masks, other))

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
        rows, left = height
        places = [self.output(env, row + r, col) for r in range(rows)]
        sums = self._begin(env, row, rows, col, mask)
        loops = [i for i in self.pool.reductions if not self.by_columns or i != self.down]
        self._put_rows(self._window(places[0], loops, sums), places, left, mask)

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

    @property
    def by_columns(self) -> bool:
        """Whether large windows are summed a column at a time."""
        return self.elements is None and self.down is not None

    def _column(self, env: dict[int, Index], sums: list[ir.Value]) -> list[ir.Value]:
        """Sum a column of a window: each pixel goes to all rows that see it."""
        emit, pool, down = self.emit, self.pool, self.down
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
        """Sum a window; its taps, or those of its rows, are unrolled, unless it goes by columns.

        Args:
            env: counters at the tile's first output, and of the taps.
            left: the reductions that have no counter yet.
            sums: the sums of the tile so far.
        """
        if not left:
            return (self._column if self.by_columns else self._step)(env, sums)
        position, *rest = left
        extent = self.extent(position)
        along = position in self.pool.axes[-1].inner and isinstance(extent, int)
        if self.elements is None and (self.by_columns or not along):
            hints = KEEP if self.by_columns else AS_IT_IS
            with self.emit.loop(0, extent, 1, sums, hints) as loop:
                inner = {**env, position: loop.counter}
                loop.carry(self._window(inner, rest, loop.carried))
            return loop.results
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
        shift = sum(env[i] * factor for i, factor in last.inner.items() if i != pool.col)
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
