"""Fast convolutions: register tiles of pixels by output channels, straight from the image.

Each step of a tile takes one element of the image for every pixel and, for each vector of output
channels, the kernels' numbers side by side. Kernels lie, or are packed, in blocks of a vector of
output channels; the image is read as it lies, whatever the strides of its window.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.borders import Borders
from relax_mlir.lowering.tir_to_vector.convolution import Convolution
from relax_mlir.lowering.tir_to_vector.convolution_store import TileStore
from relax_mlir.lowering.tir_to_vector.convolution_tiles import tiles_of
from relax_mlir.lowering.tir_to_vector.emit import KEEP, Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_blocks import KernelBlocks
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.multiply import multiply_add
from relax_mlir.lowering.tir_to_vector.operands import Layout
from relax_mlir.lowering.tir_to_vector.packing import Loader
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import work_of

# Kernels of so many bytes stay in the second-level cache while pixels pass by.
_KERNELS_IN_CACHE = 1 << 20
Span = tuple[Index, Index]


def emit_convolution(
    found: Convolution, emit: Emitter, machine: Machine, borders: Borders | None = None
) -> None:
    """Write the kernel of a convolution at the insertion point.

    Args:
        found: the convolution.
        emit: where to write.
        machine: what for.
        borders: how windows hang over the image, where it is not a padded copy that is read.
    """
    _Writer(found, emit, machine, borders).write()


class _Writer:
    def __init__(
        self, found: Convolution, emit: Emitter, machine: Machine, borders: Borders | None
    ) -> None:
        self.borders = borders
        self.found, self.emit, self.machine = found, emit, machine
        lanes = machine.lanes(found.element)
        assert lanes is not None  # convolutions of other elements are left to plain loops
        self.lanes = lanes
        self.vector = ir.VectorType.get([lanes], found.element)
        self.image = Layout(found.image, emit)
        self.kernels = KernelBlocks(found, emit, self.vector)
        self.store = TileStore(found, self.kernels, emit, self.vector, machine)
        self.blocks = self.kernels.count
        self.rows, self.cols = self._extent(found.row), self._extent(found.col)
        self.sizes = tiles_of(found, machine)
        self.outer = [i for i in found.outer if i != self.kernels.block]

    def _extent(self, position: int | None) -> Index:
        return self.emit.size(self.found.iter(position).extent)

    def write(self) -> None:
        """Write the loops."""
        kernels = self.kernels
        with ExitStack() as loops:
            spans, blocks, rows = loops.enter_context(self._team())
            # Either kernels stay in the cache and the image passes by, or the other way round.
            stay = kernels.bytes_at_most(_KERNELS_IN_CACHE)
            kernels.allocate(self.blocks if stay else self.sizes.blocks[0])
            self.store.allocate(max(self.sizes.rows) * max(self.sizes.cols))
            env: dict[int, Index] = {}
            for position in self.outer:
                env[position] = loops.enter_context(self._loop(spans[position]))
            if stay:
                kernels.pack(env, *blocks)
                for height, row in self._steps(rows, self.sizes.rows):
                    for width, col in self._columns():
                        for vectors, block in self._steps(blocks, self.sizes.blocks):
                            self._tile(env, (height, width, vectors), (row, col, block), blocks[0])
                return
            for vectors, block in self._steps(blocks, self.sizes.blocks):
                kernels.pack(env, block, self.emit.add(block, vectors))
                for height, row in self._steps(rows, self.sizes.rows):
                    for width, col in self._columns():
                        self._tile(env, (height, width, vectors), (row, col, block), block)

    @contextmanager
    def _team(self) -> Iterator[tuple[dict[int, Span], Span, Span]]:
        """Split the work between outer steps, blocks of channels, or rows."""
        emit = self.emit
        parts: dict[int | str, Part] = {i: Part(self._extent(i)) for i in self.outer}
        parts["blocks"] = Part(self.blocks, self.sizes.blocks[0])
        parts["rows"] = Part(self.rows, self.sizes.rows[0])
        order = sorted(parts, key=lambda name: self._waste(parts[name]))
        with emit.team([parts[name] for name in order], work_of(emit, self.found.flat, 1)) as got:
            spans = dict(zip(order, got, strict=True))
            outer = {i: spans[i] for i in self.outer}
            yield outer, spans["blocks"], spans["rows"]

    def _waste(self, part: Part) -> float:
        """Return how much longer the thread with most to do takes than all would on average."""
        if not isinstance(part.extent, int):
            return 1.5
        threads = self.emit.threads
        steps = max(1, -(-part.extent // part.unit))
        return -(-steps // threads) * threads / steps

    @contextmanager
    def _loop(self, span: Span) -> Iterator[Index]:
        if span == (0, 1):
            yield 0
            return
        with self.emit.loop(*span) as loop:
            yield loop.counter

    def _steps(self, span: Span, sizes: Sequence[int]) -> Iterator[tuple[int, Index]]:
        """Write loops that cover a span by steps of these sizes, yield each step's size and place.

        Spans begin at multiples of the first size, and it is the last that has a rest.
        """
        emit = self.emit
        done, stop = span
        for size in sizes:
            upto = emit.add(done, emit.round_down(emit.sub(stop, done), size))
            if isinstance(upto, int) and isinstance(done, int) and upto - done <= size:
                if upto > done:
                    yield size, done
            else:
                with emit.loop(done, upto, size) as loop:
                    yield size, loop.counter
            done = upto

    def _columns(self) -> Iterator[tuple[int, Index]]:
        """As `_steps` along a row; tiles whose windows hang over are written out one by one."""
        sizes, borders = self.sizes.cols, self.borders
        if borders is None or borders.axis_of(self.found.col) is None:
            yield from self._steps((0, self.cols), sizes)
            return
        assert isinstance(self.cols, int)  # or borders would not have been told
        done = 0
        for size in sizes:
            upto = done + (self.cols - done) // size * size
            places = range(done, upto, size)
            whole = [at for at in places if borders.is_inside(at, size)]
            for at in places:
                if at not in whole:
                    yield size, at
            if whole:
                yield from self._steps((whole[0], whole[-1] + size), (size,))
            done = upto

    def _tile(
        self, env: dict[int, Index], size: tuple[int, int, int], at: tuple[Index, Index, Index],
        packed_from: Index,
    ) -> None:  # fmt: skip
        emit, found = self.emit, self.found
        (height, width, vectors), (row, col, block) = size, at
        here = {**env, found.col: col}
        if found.row is not None:
            here[found.row] = row
        start = self.image.at(here).offset
        pixels = [
            emit.add(
                emit.mul(r, self.image.stride(found.row)), emit.mul(c, self.image.stride(found.col))
            )
            for r in range(height)
            for c in range(width)
        ]
        kernels = [
            self.kernels.at(env, emit.sub(emit.add(block, v), packed_from), emit.add(block, v))
            for v in range(vectors)
        ]
        init = found.flat.init
        zero = emit.constant(self.vector, 0)
        if init is not None:
            zero = emit.constant_of(self.vector, ir.DenseElementsAttr.get_splat(self.vector, init))
        sums = [zero] * (len(pixels) * vectors)
        borders = self.borders
        if borders is not None and isinstance(col, int) and not borders.is_inside(col, width):
            sums = self._hanging(here, width, start, pixels, kernels, sums)
        else:
            loops = [i for i in (*found.reductions, found.k, found.taps) if i is not None]
            sums = self._reduce(here, loops, start, pixels, kernels, sums)
        self.store.write(here, size, sums, block, self.kernels.left(block, vectors))

    def _hanging(
        self, here: dict[int, Index], width: int, image: Index, pixels: list[Index],
        kernels: list[Index], sums: list[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        """Add up a tile some of whose windows hang over at an end of the row, step by step."""
        emit, found, borders = self.emit, self.found, self.borders
        col = here[found.col]
        assert borders is not None
        assert isinstance(col, int)
        loops = [i for i in (*found.reductions, found.k) if i is not None]
        vectors = len(kernels)
        for tap in range(found.iter(found.taps).extent.value or 1):
            row = borders.inside(col, width, tap)
            inside = [first + p for first in range(0, len(pixels), width) for p in row]
            numbers = [p * vectors + v for p in inside for v in range(vectors)]
            if not numbers:
                continue
            there = emit.add(image, emit.mul(tap, self.image.stride(found.taps)))
            step = emit.mul(tap, self.kernels.stride(found.taps))
            parts = self._reduce(
                here, loops, there, [pixels[p] for p in inside],
                [emit.add(kernel, step) for kernel in kernels], [sums[n] for n in numbers],
            )  # fmt: skip
            sums = list(sums)
            for number, part in zip(numbers, parts, strict=True):
                sums[number] = part
        return sums

    def _reduce(
        self, here: dict[int, Index], loops: list[int], image: Index, pixels: list[Index],
        kernels: list[Index], sums: list[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        emit = self.emit
        if not loops:
            return self._step(image, pixels, kernels, sums)
        position, *rest = loops
        span: Span = (0, self._extent(position))
        if self.borders is not None:
            span = self.borders.steps(emit, position, span[1], here)
        with emit.loop(*span, 1, sums, KEEP) as loop:
            there = emit.add(image, emit.mul(loop.counter, self.image.stride(position)))
            step = emit.mul(loop.counter, self.kernels.stride(position))
            inner = [emit.add(kernel, step) for kernel in kernels]
            loop.carry(self._reduce(here, rest, there, pixels, inner, loop.carried))
        return loop.results

    def _step(
        self, image: Index, pixels: list[Index], kernels: list[Index], sums: list[ir.Value]
    ) -> list[ir.Value]:
        emit, found = self.emit, self.found
        load = Loader(emit, self.image.base, found.widen[0], self.vector)
        weights = [self.kernels.load(kernel) for kernel in kernels]
        result = []
        for number, pixel in enumerate(pixels):
            value = emit.splat(load.one(emit.add(image, pixel)), self.vector)
            for v, weight in enumerate(weights):
                result.append(
                    multiply_add(emit, self.machine, value, weight, sums[number * len(weights) + v])
                )
        return result
