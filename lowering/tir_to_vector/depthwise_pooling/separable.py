"""Separable pooling: columns of windows are combined in place, then rows.

The combined rows of a window go to a buffer for a row, with borders at both ends; in NCHW sorted by
the remainder to the stride. A window of R rows and C columns takes R + C steps instead of R * C,
and no copy of the image.
"""

import itertools
import math
from collections.abc import Sequence
from contextlib import ExitStack

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import (
    DepthwisePool,
    NhwcDepthwisePool,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import DepthwisePoolWriter
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span, ceil_div, is_zero
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.reductions.reduction import Sums
from relax_mlir.lowering.tir_to_vector.reductions.variadic import IDEMPOTENT

# Rows, or columns, of windows up to which they are unrolled.
_MAX_TAPS = 16
# A load of bytes of several stores waits until these have left the store buffer, so several rows
# are written before the first is read.
_LINES_BYTES = 8192
_MAX_LINES = 16
SUMS = ("arith.addf", "arith.addi")


def is_separable(pool: DepthwisePool) -> bool:
    """Whether pooling may combine one dimension after the other."""
    flat = pool.flat
    if pool.weight is not None or flat.init is None:
        return False
    if pool.fill is not None and pool.fill != flat.init:
        return False
    if flat.combiner not in IDEMPOTENT and not (flat.combiner in SUMS and is_zero(flat.init)):
        return False
    seen = [i for axis in pool.axes for i in axis.inner]
    return len(seen) == len(set(seen)) and all(
        sum(i in pool.reductions for i in axis.inner) <= 1 for axis in pool.axes
    )


class SeparableNchw(DepthwisePoolWriter):
    """Writes the kernel: vectors are of one row of outputs."""

    # The image's dimensions that are combined along rows.
    along_rows = 1

    def _shape(self) -> None:
        pool = self.pool
        self.phase = self._phase_size(self.reach[-1])
        self.size = self.phase * pool.stride
        self.sums: Sums = Sums(pool.flat, self.emit, self.lanes, shared=False)

    def write(self) -> None:
        """Write the loops."""
        emit, pool = self.emit, self.pool
        positions = [*pool.outer, *pool.inner]
        rows = self.extent(pool.row)
        with ExitStack() as loops:
            parts = [ParallelDim(self.extent(i), min_extent=2 * emit.threads) for i in positions]
            ranges = loops.enter_context(
                emit.parallel_region([*parts, ParallelDim(rows)], work_of(emit, pool.flat, 1))
            )
            with emit.outside():
                fit = _LINES_BYTES // (self.size * (max(8, pool.element.width) // 8))
                fit = emit.max(emit.min(fit, _MAX_LINES), 1)
                together = emit.min(fit, emit.max(rows, 1))
                size = self.size * together
            self.plane = self._filled(size, pool.flat.init)
            env: dict[int, Index] = {}
            for position, span in zip(positions, ranges, strict=False):
                env[position] = loops.enter_context(self.emit.each_step(*span))
            with emit.loop(*ranges[-1], together) as block:
                count = emit.min(ranges[-1][1] - block.counter, together)
                for write in (self._line, self._row):
                    with emit.each_step(0, 1 if together == 1 else count) as number:
                        self.start = number * self.size
                        row = block.counter + number
                        write(env if pool.row is None else {**env, pool.row: row})

    def _line(self, env: dict[int, Index]) -> None:
        """Combine the rows of all windows of a row of outputs into the buffer."""
        emit, pool = self.emit, self.pool
        place: Index = 0
        taps: list[tuple[Index, Index]] = []
        spans: list[Span] = []
        whole: Bool = True
        for d, (axis, stride) in enumerate(zip(pool.axes, self.source_strides, strict=True)):
            tap = next((i for i in axis.inner if i in pool.reductions), None)
            along = d >= len(pool.axes) - self.along_rows
            # In NHWC iterators of one step have no counter.
            factors = {i: f for i, f in axis.factors.items() if i != tap and not along}
            first = sum((env.get(i, 0) * f for i, f in factors.items()), axis.constant)
            before = 0 if along else self.befores[d]
            place += (first - before) * stride
            if tap is None or along:
                continue
            extent, step = self.extent(tap), axis.inner[tap]
            low, high, inside = self._span(d, first, extent, step)
            taps.append((extent, stride * step))
            spans.append((low, high))
            whole = emit.both(whole, inside)
        known = [extent for extent, _ in taps if isinstance(extent, int)]
        if len(known) < len(taps) or math.prod(known) > _MAX_TAPS:
            self._combine(place, taps, spans)
            return
        emit.choose(
            whole,
            lambda: self._combine(place, taps, None),
            lambda: self._combine(place, taps, spans),
        )

    def _span(self, d: int, first: Index, extent: Index, step: int) -> tuple[Index, Index, Bool]:
        """Return which rows of a window are in the image, and whether all are.

        Args:
            d: the dimension.
            first: the window's first element, counted with the border.
            extent: the window's extent.
            step: the dilation.
        """
        emit, padded = self.emit, self.pool.padded
        if padded is None or not (padded.before[d] or padded.after[d]):
            return 0, extent, True
        before = self.befores[d]
        skipped = emit.max(before - first, 0)
        low = ceil_div(skipped, step)
        there = emit.max(emit.size(padded.sizes[d]) + before - first, 0)
        high = emit.min(ceil_div(there, step), extent)
        inside = emit.both(emit.compare("eq", low, 0), emit.compare("eq", high, extent))
        return low, high, inside

    def _combine(
        self, place: Index, taps: Sequence[tuple[Index, Index]], spans: Sequence[Span] | None
    ) -> None:
        """Combine some rows of the image into the buffer; without spans they are unrolled."""
        self._store_phases(
            self.start, lambda at, masks: self._column(place + at, taps, spans, masks)
        )

    def _column(
        self, place: Index, taps: Sequence[tuple[Index, Index]],
        spans: Sequence[Span] | None, masks: Sequence[ir.Value | None],
    ) -> list[ir.Value]:  # fmt: skip
        """Return adjacent vectors of combined rows."""
        emit, fill, sums = self.emit, self.splat(self.pool.flat.init), self.sums
        width = len(sums.begin(fill))

        def nested(carried: list[ir.Value], at: Index, number: int) -> list[ir.Value]:
            if number == len(taps):
                parts = [carried[i : i + width] for i in range(0, len(carried), width)]
                pairs = zip(parts, self._adjacent(at, masks, fill), strict=True)
                return [each for part, value in pairs for each in sums.steps(part, [value])]
            assert spans is not None
            with emit.loop(*spans[number], 1, carried) as loop:
                further = at + loop.counter * taps[number][1]
                loop.carry(nested(loop.carried, further, number + 1))
            return loop.results

        begun = sums.begin(fill)
        if spans is not None:
            ends = nested(begun * len(masks), place, 0)
            return [sums.end(ends[i : i + width]) for i in range(0, len(ends), width)]
        rows = []
        for steps in itertools.product(*(range(e) for e, _ in taps if isinstance(e, int))):
            at = sum((step * by for step, (_, by) in zip(steps, taps, strict=True)), place)
            rows.append(self._adjacent(at, masks, fill))
        return [sums.end(sums.steps(begun, column)) for column in zip(*rows, strict=True)]

    def _row(self, env: dict[int, Index]) -> None:
        """Combine the buffer's elements for a row of outputs."""
        col = self.pool.col

        def write(at: Index, mask: ir.Value | None) -> None:
            self.put(self._along(at), {**env, col: at}, mask)

        self.emit.each_vector(0, self.extent(col), self.lanes, write)

    def _along(self, col: Index) -> ir.Value:
        """Return the outputs from a column on."""
        emit, axis = self.emit, self.pool.axes[-self.along_rows]
        tap = next((i for i in axis.inner if i in self.pool.reductions), None)
        extent, step = (1, 0) if tap is None else (self.extent(tap), axis.inner[tap])
        begun = self.sums.begin(self.splat(self.pool.flat.init))
        if isinstance(extent, int) and extent <= _MAX_TAPS:
            values = [self._element_at(col, r * step) for r in range(extent)]
            return self.sums.end(self.sums.steps(begun, values))
        with emit.loop(0, extent, 1, begun) as loop:
            value = self._element_at(col, loop.counter * step)
            loop.carry(self.sums.step(loop.carried, value))
        return self.sums.end(loop.results)

    def _element_at(self, col: Index, shift: Index) -> ir.Value:
        """Load the elements of a tap of the windows from a column on."""
        emit, stride = self.emit, self.pool.stride
        quotient = shift // stride
        phase = shift - quotient * stride
        place = self.start + phase * self.phase + quotient
        return emit.vector_load(self.plane, [place + col], self.vector)


# Taps of smaller windows are combined in place, without a buffer.
_MIN_ELEMENTS = 16


def is_nhwc_separable(pool: NhwcDepthwisePool) -> bool:
    """Whether pooling in NHWC combines one dimension after the other."""
    if not is_separable(pool) or None in (pool.row, pool.fall, pool.slide):
        return False
    across = pool.axes[-2]
    rows, columns = pool.size(pool.fall), pool.size(pool.slide)
    large = min(rows, columns) > 1 and rows * columns >= _MIN_ELEMENTS
    return large and not across.constant and not across.outer


class SeparableNhwc(SeparableNchw):
    """Writes the kernel in NHWC: vectors are of channels, and rows of pixels with theirs."""

    pool: NhwcDepthwisePool
    along_rows = 2

    def _shape(self) -> None:
        super()._shape()
        self.pitch: Index = self.source_strides[-2]
        self.size = self.phase = self._phase_size(self.reach[-2] * self.pitch)

    @property
    def row_span(self) -> tuple[Index, Index]:
        """Elements of a row of the image, and of the padding before them."""
        return self.counts[-2] * self.pitch, self.befores[-2] * self.pitch

    def _row(self, env: dict[int, Index]) -> None:
        pool, step = self.pool, self.pool.axes[-2].inner[self.pool.across]
        with self.emit.loop(0, self.extent(pool.across)) as col:
            there = {**env, pool.across: col.counter}
            start = col.counter * (self.pitch * step)

            def write(channel: Index, mask: ir.Value | None) -> None:
                self.put(self._along(start + channel), {**there, pool.col: channel}, mask)

            self.emit.each_vector(0, self.extent(pool.col), self.lanes, write)

    def _element_at(self, col: Index, shift: Index) -> ir.Value:
        place = self.start + shift * self.pitch
        return self.emit.vector_load(self.plane, [place + col], self.vector)
