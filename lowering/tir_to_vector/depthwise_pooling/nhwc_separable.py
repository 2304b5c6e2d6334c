"""Separable pooling in NHWC: rows of windows are combined first, then columns.

For a vector of channels, each row of the image is read once, in place. The combined taps of windows
go to a buffer, whose rows are then combined. A window of R rows and C columns takes R + C steps
instead of R * C.
"""

import functools
from collections.abc import Iterator
from contextlib import ExitStack

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_kernel import (
    global_pool,
    match_window,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_separable import is_separable
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nhwc_kernel import NhwcWriter, WindowAxis
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import (
    NhwcDepthwisePool,
    match_nhwc,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import nest_work
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

# Taps of smaller windows are combined in place, without a buffer.
_MIN_ELEMENTS = 16
# Maximal rows and columns of a window, which are unrolled.
_MAX_TAPS = 16
# Outputs that are computed together.
_OUTPUTS = 4


def is_nhwc_separable(pool: NhwcDepthwisePool) -> bool:
    """Whether pooling combines one dimension after the other."""
    if not is_separable(pool) or None in (pool.row, pool.fall, pool.slide):
        return False
    sizes = [pool.size(pool.fall), pool.size(pool.slide)]
    if not (sizes[0] * sizes[1] >= _MIN_ELEMENTS and 1 < min(sizes) <= max(sizes) <= _MAX_TAPS):
        return False
    if set(pool.reductions) != {pool.fall, pool.slide}:
        return False
    *deep, down, right, _ = range(len(pool.axes))
    if any(pool.axes[axis].constant or pool.axes[axis].outer for axis in (down, right)):
        return False
    padded = pool.padded
    return padded is None or not any(padded.before[d] or padded.after[d] for d in deep)


class SeparableNhwc(NhwcWriter):
    """Writes the kernel: vectors are of channels."""

    line: ir.Value
    plane: ir.Value

    def write(self) -> None:
        """Write the loops."""
        emit, pool, lanes = self.emit, self.pool, self.lanes
        rows, cols = self.extent(pool.row), self.extent(pool.across)
        channels = self.extent(pool.col)
        vectors = ceil_div(channels, lanes)
        parts = [ParallelDim(self.extent(i), min_extent=2 * emit.threads) for i in pool.outer]
        parts += [ParallelDim(vectors, min_extent=emit.threads), ParallelDim(rows)]
        halo = (pool.size(pool.fall) - 1) * self.fall.dilation
        with ExitStack() as loops:
            *spans, upto = loops.enter_context(
                emit.parallel_region(parts, work_of(emit, pool.flat, 1))
            )
            with emit.outside():
                self.pitch: Index = cols * lanes
                bytes_ = emit.max(self.pitch * self.element_bytes, 1)
                fit = self.machine.l2_bytes // 4 // bytes_ - halo
                # Rows of windows in two blocks are combined twice.
                block = emit.max(fit // self.fall.stride, halo + _OUTPUTS)
                block = emit.max(emit.min(block, rows), 1)
                seen = (block - 1) * self.fall.stride + (halo + 1)
                sizes = self.reach[self.right.axis] * lanes, seen * self.pitch
            kept = pool.element
            if self.ordered is not None:
                kept = ir.IntegerType.get_signless(pool.element.width)
            self.kept: ir.VectorType = ir.VectorType.get([lanes], kept)
            self.line, self.plane = (emit.alloc(size, kept) for size in sizes)
            self.fill: ir.Value = self._of(self.splat(pool.flat.init))
            with emit.loop(0, sizes[0], lanes) as at:
                emit.vector_store(self.fill, self.line, [at.counter])
            env: dict[int, Index] = {}
            for position, span in zip(pool.outer, spans, strict=False):
                env[position] = loops.enter_context(self.emit.each_step(*span))
            vector = loops.enter_context(self.emit.each_step(*spans[-1]))
            env[pool.col] = vector * lanes
            self.mask: ir.Value | None = None
            if not isinstance(channels, int) or channels % lanes:
                self.mask = emit.mask(channels - env[pool.col], lanes)
            place, _ = self._corner(env)
            with emit.loop(*upto, block) as first:
                count = emit.min(upto[1] - first.counter, block)
                self._rows(place, first.counter, count)
                self._columns(env, first.counter, count)

    def _of(self, value: ir.Value) -> ir.Value:
        return value if self.ordered is None else self.ordered.of(value)

    def _rows(self, place: Index, first: Index, count: Index) -> None:
        """Combine, for each row that windows see, the taps of each window."""
        emit, fall = self.emit, self.fall
        reach = (self.pool.size(fall.step) - 1) * fall.dilation + 1
        stop = (count - 1) * fall.stride + reach
        begin = first * fall.stride - self.befores[fall.axis]
        with emit.loop(0, stop) as row:
            index = begin + row.counter
            to = row.counter * self.pitch
            inside: ir.Value | bool = True
            if self._pads(fall.axis):
                inside = self._within(fall.axis, index, index)
            if not isinstance(inside, ir.Value):
                self._row(place + index * self.source_strides[fall.axis], to)
                return
            with emit.when(inside) as branch:
                self._row(place + index * self.source_strides[fall.axis], to)
            with emit.otherwise(branch), emit.loop(0, self.pitch, self.lanes) as at:
                emit.vector_store(self.fill, self.plane, [to + at.counter])

    def _row(self, place: Index, to: Index) -> None:
        """Combine the taps of a row of the image.

        Args:
            place: its place in the image.
            to: its place in the buffer.
        """
        emit, right, lanes = self.emit, self.right, self.lanes
        other = None if self.mask is None else self._fill_value()
        begin, step = self.befores[right.axis], self.source_strides[right.axis]
        with emit.loop(0, self.counts[right.axis]) as at:
            value = self.load(place + at.counter * step, self.mask, other)
            target = (at.counter + begin) * lanes
            emit.vector_store(self._of(value), self.line, [target])
        for col, outputs in self._outputs(right, self.extent(right.pixel)):
            from_ = col * (right.stride * lanes)
            values = self._combined(right, outputs, self.line, from_, lanes)
            for number, value in enumerate(values):
                target = to + (col + number) * lanes
                emit.vector_store(value, self.plane, [target])

    def _columns(self, env: dict[int, Index], first: Index, count: Index) -> None:
        """Combine the rows of windows, and store the results."""
        emit, pool, fall, lanes = self.emit, self.pool, self.fall, self.lanes
        assert pool.row is not None  # asked before
        for row, outputs in self._outputs(fall, count):
            with emit.loop(0, self.extent(pool.across)) as col:
                from_ = row * fall.stride * self.pitch
                from_ += col.counter * lanes
                values = self._combined(fall, outputs, self.plane, from_, self.pitch, begin=True)
                for number, value in enumerate(values):
                    there = first + row + number
                    done = value if self.ordered is None else self.ordered.back(value)
                    self.put(done, {**env, pool.row: there, pool.across: col.counter}, self.mask)

    def _outputs(self, along: WindowAxis, count: Index) -> Iterator[tuple[Index, int]]:
        """Write loops over outputs of an axis; yields the first and how many go together."""
        emit = self.emit
        together = min(_OUTPUTS, count) if isinstance(count, int) else _OUTPUTS
        if together < 1:
            return
        with ExitStack() as guard:
            if not isinstance(count, int):
                many = guard.enter_context(emit.when(emit.compare("sge", count, together)))
            with emit.loop(0, count, together) as loop:
                # The last outputs end with the axis, and overlap those before.
                yield emit.min(loop.counter, count - together), together
        if isinstance(count, int):
            return
        with emit.otherwise(many), emit.loop(0, count) as loop:
            yield loop.counter, 1

    def _combined(
        self, along: WindowAxis, outputs: int, memory: ir.Value, place: Index, step: Index, *,
        begin: bool = False,
    ) -> list[ir.Value]:  # fmt: skip
        """Combine what adjacent outputs see along an axis.

        Args:
            along: the axis.
            outputs: the number of outputs.
            memory: the buffer.
            place: of the first.
            step: from one to the next.
            begin: whether to begin with the reduction's initial value.
        """

        @functools.cache
        def at(offset: int) -> ir.Value:
            return self.emit.vector_load(memory, [place + step * offset], self.kept)

        taps = range(0, self.pool.size(along.step) * along.dilation, along.dilation)
        values = [
            # LLVM combines once what neighbours share.
            functools.reduce(self._both, [at(output * along.stride + tap) for tap in taps])
            for output in range(outputs)
        ]
        return [self._both(self.fill, value) for value in values] if begin else values

    def _both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        combiner = self.pool.flat.combiner if self.ordered is None else self.ordered.combiner
        return self.emit.op(combiner, [a, b], self.kept)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    pool: NhwcDepthwisePool = problem.form
    separable = is_nhwc_separable(pool)
    writer = SeparableNhwc if separable else NhwcWriter
    kernel = Candidate(
        "separable" if separable else "vectors of channels",
        lambda emit, machine: writer(pool, emit).write(),
        lambda size: nest_work(pool.flat, machine, size),
    )
    return [*global_pool(pool, machine), kernel]


NHWC_WINDOW = KernelClass(
    "depthwise convolution or pooling, NHWC",
    lambda nests: match_window(nests, match_nhwc),
    _candidates,
    one_nest=False,
)
