"""What kernels that copy planes share: loops, buffers, taps."""

from abc import abstractmethod
from contextlib import ExitStack

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import DepthwisePoolWriter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

# Small planes that are copied before the first of them is read: a load of bytes of several stores
# waits until these have left the store buffer.
_MAX_PLANES = 8


class CopiedNchw(DepthwisePoolWriter):
    """Writes the loops over planes; subclasses know a plane's layout in the buffer.

    Attributes:
        strides: of all its dimensions but the last; those of rows that are copied one by one.
        unit: planes that go together.
    """

    strides: list[Index]
    unit = 1

    @abstractmethod
    def _copy(self, place: Index, to: Index) -> None:
        """Copy the dimensions of a plane that `strides` do not cover.

        Args:
            place: of its first element in the image.
            to: its first element in the buffer.
        """

    @abstractmethod
    def _tiles(self, env: dict[int, Index]) -> None:
        """Write the outputs of one plane."""

    @abstractmethod
    def _pixels(self, env: dict[int, Index], count: int) -> list[ir.Value]:
        """Load for each vector of a tile the pixels of one tap."""

    def write(self) -> None:
        """Write the loops."""
        emit, pool = self.emit, self.pool
        extents = {i: self.extent(i) for i in pool.outer}
        order = sorted(pool.outer, key=lambda i: -e if isinstance(e := extents[i], int) else 0)
        with ExitStack() as loops:
            last = pool.outer[-1:]
            parts = [ParallelDim(extents[i], self.unit if i in last else 1) for i in order] or [
                ParallelDim(1)
            ]
            work = work_of(emit, pool.flat, 1)
            ranges = loops.enter_context(emit.parallel_region(parts, work))
            spans = dict(zip(order, ranges, strict=False))
            with emit.outside():
                together = self._together()
                size = emit.mul(self.size, together)
            self.plane: ir.Value = emit.alloc(size, pool.element)
            fill = self._fill_value()
            with emit.loop(0, size, self.lanes) as at:
                emit.vector_store(fill, self.plane, [at.counter])
            env: dict[int, Index] = {}
            for position in pool.outer[:-1]:
                env[position] = loops.enter_context(self._loop(spans[position]))
            self._plane_groups(env, spans, together)

    def _together(self) -> Index:
        """Return how many planes are copied before their outputs are computed."""
        emit, pool = self.emit, self.pool
        if not pool.outer:
            return 1
        bytes_ = emit.mul(emit.max(self.size, 1), max(8, pool.element.width) // 8)
        fit = emit.div(self.machine.l1_bytes // 2, bytes_)
        return emit.max(emit.min(emit.min(fit, self.extent(pool.outer[-1])), _MAX_PLANES), 1)

    def _plane_groups(
        self, env: dict[int, Index], spans: dict[int, tuple[Index, Index]], together: Index
    ) -> None:
        """Write the innermost loop over planes: some are copied, then read."""
        emit, pool = self.emit, self.pool
        if not pool.outer:
            self._fill(env)
            self._outputs(env)
            return
        last = pool.outer[-1]
        low, high = spans[last]
        with emit.loop(low, high, together) as group:
            count = emit.min(emit.sub(high, group.counter), together)
            for write in (self._fill, self._outputs):
                with self._loop((0, 1 if together == 1 else count)) as number:
                    self.start = emit.mul(number, self.size)
                    write({**env, last: emit.add(group.counter, number)})

    def _fill(self, env: dict[int, Index]) -> None:
        """Copy a plane to the buffer, whose border stays."""
        emit = self.emit
        place, to = self.plane_at(env), self.start
        with ExitStack() as loops:
            for d, stride in enumerate(self.strides):
                step = loops.enter_context(self._loop((0, self.counts[d])))
                place = emit.add(place, emit.mul(step, self.source_strides[d]))
                to = emit.add(to, emit.mul(emit.add(step, self.befores[d]), stride))
            self._copy(place, to)

    def _outputs(self, env: dict[int, Index]) -> None:
        pool = self.pool
        slides = {i for axis in pool.axes for i in axis.inner}
        channels = [i for i in pool.inner if i not in slides]
        with ExitStack() as loops:
            for position in [*channels, *(i for i in pool.inner if i in slides)]:
                env[position] = loops.enter_context(self._loop((0, self.extent(position))))
            self.elements: dict[tuple[int, ...], ir.Value | None] | None = self._elements(env)
            self._tiles(env)

    def window(
        self, env: dict[int, Index], steps: list[Index], left: list[int], sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Sum a window; its taps, or those of its rows, are unrolled.

        Args:
            env: counters at the tile's first output.
            steps: the taps of the reductions that are loops.
            left: the other reductions.
            sums: the sums of the tile so far.
        """
        emit, pool = self.emit, self.pool
        if not left:
            return self._step(env, steps, sums)
        position, *rest = left
        extent = self.extent(position)
        along = position in pool.axes[-1].inner and isinstance(extent, int)
        if self.elements is None and not along:
            with emit.loop(0, extent, 1, sums) as loop:
                inner = {**env, position: loop.counter}
                loop.carry(self.window(inner, [*steps, loop.counter], rest, loop.carried))
            return loop.results
        assert isinstance(extent, int)
        for step in range(extent):
            sums = self.window({**env, position: step}, [*steps, step], rest, sums)
        return sums

    def _step(
        self, env: dict[int, Index], steps: list[Index], sums: list[ir.Value]
    ) -> list[ir.Value]:
        known = self.elements
        element = self._element(env) if known is None else known[tuple(steps)]
        pixels = self._pixels(env, len(sums))
        return [
            self.combined(total, pixel, element) for total, pixel in zip(sums, pixels, strict=True)
        ]
