"""Direct convolution: register tiles of pixels by output channels.

Each step of a tile takes one element of the image for every pixel and a vector of weights for each
vector of output channels. Weights are in blocks of a vector of output channels, in place or packed.
The image is read in place, or from a packed input that has its padding.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout, Loader
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.convolution.input_packer import InputPacker, VnniInputPacker
from relax_mlir.lowering.tir_to_vector.convolution.pattern import (
    Convolution,
    find_convolution,
    find_packed_convolution,
    match_convolution,
)
from relax_mlir.lowering.tir_to_vector.convolution.store import Live, TileStore
from relax_mlir.lowering.tir_to_vector.convolution.tiles import (
    PaddingTaps,
    TileSizes,
    padding_tap_tiles,
    small_tiles,
    tiles_of,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter, add, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div, is_zero
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import FMA_LATENCY, tile_work
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim

# Tiles that reports compare.
_COMPARED = 3


def _match(nests: Nests) -> Problem | str:
    alone = nests.once(match_convolution)
    if isinstance(alone, str):
        return alone
    return _problem(find_convolution(nests.tops, nests.machine) or alone)


def _match_packed(nests: Nests) -> Problem | str:
    conv = find_packed_convolution(nests.tops, nests.machine)
    return "no image is worth packing" if conv is None else _problem(conv)


def _problem(conv: Convolution) -> Problem:
    return Problem(conv.nests, conv, "window", conv.flat.nest)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    return direct_candidates(problem.form, machine)


CONVOLUTION = KernelClass("convolution in place", _match, _candidates)
PACKED_CONVOLUTION = KernelClass(
    "convolution of a packed input", _match_packed, _candidates, one_nest=False
)


def direct_candidates(
    conv: Convolution, machine: Machine, *, is_cold: bool = False
) -> list[Candidate]:
    """Return the candidates of a direct convolution: the best register tiles.

    Args:
        conv: the convolution.
        machine: what for.
        is_cold: whether it runs so seldom that short code is better.
    """
    lanes = machine.lanes(conv.element) or 1
    group = 1 if conv.grouped is None else conv.grouped.dot.group

    def candidate(each: float, sizes: TileSizes) -> Candidate:
        sizes = padding_tap_tiles(sizes, conv)
        tile = sizes.rows[0] * sizes.cols[0], sizes.blocks[0] * lanes

        def write(emit: Emitter, _: Machine) -> None:
            _Writer(conv, emit, sizes, is_cold).write()

        work = partial(tile_work, conv.flat, machine, each=each, products=group)
        return Candidate("direct", write, work, tile)

    return [candidate(*each) for each in tiles_of(conv, machine)[:_COMPARED]]


class _Writer(TileStore):
    def __init__(self, conv: Convolution, emit: Emitter, often: TileSizes, is_cold: bool) -> None:
        super().__init__(conv, emit)
        self.grouped = conv.grouped
        self.blocks = self.weights.count
        self.rows, self.cols = self.extent(conv.row), self.extent(conv.col)
        self.is_cold = is_cold
        self.sizes = small_tiles(conv, emit.machine) if is_cold else often
        self.outer = [i for i in conv.outer if i != self.weights.block]
        self.copy: InputPacker | None = None
        self.skips: PaddingTaps | None = None
        self.first: list[int] = []
        self.share: Index = 0
        self.image: Layout | InputPacker
        self.fixed = self.outer
        if conv.packed is None:
            self.image, self.widen = Layout(conv.image, emit), conv.widen[0]
            return
        units = {conv.row: self.sizes.rows[0], conv.col: self.sizes.cols[0]}
        packer = InputPacker if self.grouped is None else VnniInputPacker
        self.copy = packer(conv, emit, units, self.sizes.cols[0])
        self.image, self.widen = self.copy, None
        most = {conv.row: often.rows[0], conv.col: often.cols[0]}
        skips = PaddingTaps(conv, most, emit)
        self.first, self.skips = skips.steps, None if is_cold else skips
        self.fixed = [i for i in self.outer if i not in conv.packed.moving]

    def write(self) -> None:
        """Write the loops."""
        weights, conv = self.weights, self.conv
        if self.skips is not None:
            self.skips.prepare()
        with ExitStack() as loops:
            spans, blocks = loops.enter_context(self._parallel_region())
            # Weights are packed once if all of them stay in cache, else a block at a time.
            once = weights.bytes_at_most(self.machine.l2_bytes)
            weights.allocate(self.blocks if once else self.sizes.blocks[0])
            self.allocate_sums(max(self.sizes.rows) * max(self.sizes.cols))
            if self.copy is not None:
                self.copy.allocate()
            env: dict[int, Index] = {}
            for position in self.fixed:
                env[position] = loops.enter_context(self.emit.each_step(*spans[position]))
            if once:
                weights.pack(env, *blocks)
            if self.copy is not None:
                band = self.copy.band
                spans[band] = loops.enter_context(self.copy.bands(env, spans[band]))
            for position in self.outer:
                if position not in self.fixed:
                    env[position] = loops.enter_context(self.emit.each_step(*spans[position]))
            rows, cols = spans.get(conv.row, (0, 1)), spans[conv.col]
            # Weight-stationary or input-stationary: a block of weights stays in cache while the
            # image streams, or a few rows of the image while weights stream.
            first = 0 if weights.prepacked else blocks[0]
            if once and not self._image_stays():
                for size, at, live in self._pixels(rows, cols):
                    for vectors, block in self._steps(blocks, self.sizes.blocks):
                        self._tile(env, (*size, vectors), (*at, block), first, live)
                return
            for vectors, block in self._steps(blocks, self.sizes.blocks):
                if not once:
                    weights.pack(env, block, block + vectors)
                if not (once or weights.prepacked):
                    first = block
                following = self._following(env, block, vectors, blocks[1], (rows, cols))
                for size, at, live in self._pixels(rows, cols):
                    self._tile(env, (*size, vectors), (*at, block), first, live, following)

    def _following(
        self, env: dict[int, Index], block: Index, vectors: int, last: Index,
        pixels: tuple[Span, Span],
    ) -> Callable[[Index, Index], Index] | None:  # fmt: skip
        """Return where in the weights of the next channels a tile's share begins.

        Each tile prefetches a share, `self.share` elements with each step. The place is relative to
        the tile's own weights, and None if there is nothing to prefetch.
        """
        emit, steps, lanes, parts = self.emit, self.weights.steps, self.lanes, self.weights.parts
        one_block = isinstance(self.blocks, int) and self.blocks <= vectors
        if steps is None or one_block or self.is_cold:
            return None
        sizes = self.sizes.rows[0], self.sizes.cols[0]
        (top, _), (left, _) = pixels
        down, across = (
            ceil_div(high - low, size) for (low, high), size in zip(pixels, sizes, strict=True)
        )
        tiles = emit.max(down * across, 1)
        line = max(lanes, emit.isa.line(self.vector.element_type.width))
        wide = -(-vectors // parts) * parts * lanes
        share = emit.min((wide - 1 + tiles) // tiles, line)
        # After the last block nothing is left to prefetch.
        more = emit.compare("slt", block + vectors, last)
        distance: Index = vectors * steps * lanes
        if vectors % parts:
            # Lines of a block that a tile reads in part are in cache then.
            after = emit.round_down(block + (vectors + parts - 1), parts)
            places = [self.weights.source(env, each) for each in (after, block)]
            distance = emit.sub(*places)
        following = emit.select(more, distance, 0)
        self.share = share

        def place(row: Index, col: Index) -> Index:
            above = (row - top) // sizes[0] * across
            # Rounded up, as tiles may be narrower.
            number = above + ceil_div(col - left, sizes[1])
            return following + number * (share * steps)

        return place

    def _image_stays(self) -> bool:
        """Whether the image stays in L2."""
        type_ = self.conv.image.buffer.type
        if self.copy is not None or not type_.has_static_shape:
            return True
        bytes_ = max(8, type_.element_type.width) // 8
        return math.prod(type_.shape) * bytes_ <= self.machine.l2_bytes // 2

    @contextmanager
    def _parallel_region(self) -> Iterator[tuple[dict[int | None, Span], Span]]:
        """Split outer iterators, blocks of channels, rows or pixels of a row.

        Yields the ranges of all pixels' iterators, and that of the blocks.
        """
        emit, conv = self.emit, self.conv
        # If the number of images is dynamic, there may be one: then the next loop is split.
        least = emit.threads
        dims: dict[int | str, ParallelDim] = {
            i: ParallelDim(self.extent(i), min_extent=least) for i in self.outer
        }
        dims["blocks"] = ParallelDim(self.blocks, self.sizes.blocks[0])
        dims["rows"] = ParallelDim(self.rows, self.sizes.rows[0], least)
        if self.copy is None:
            dims["cols"] = ParallelDim(self.cols, self.sizes.cols[0])
        order = sorted(dims, key=lambda name: dims[name].load_imbalance(emit.threads))
        with emit.parallel_region(
            [dims[name] for name in order], work_of(emit, self.conv.flat, 1)
        ) as got:
            by_name = dict(zip(order, got, strict=True))
            spans: dict[int | None, Span] = {i: by_name[i] for i in self.outer}
            spans[conv.col] = by_name.get("cols", (0, self.cols))
            if conv.row is not None:
                spans[conv.row] = by_name["rows"]
            yield spans, by_name["blocks"]

    def _steps(self, span: Span, sizes: Sequence[int]) -> Iterator[tuple[int, Index]]:
        """Write loops that cover a span by steps of these sizes; yields each size and place.

        Spans begin at multiples of the first size, and only the last span has a tail.
        """
        emit = self.emit
        done, stop = span
        for size in sizes:
            upto = done + emit.round_down(stop - done, size)
            if upto != done:
                with emit.each_step(done, upto, size) as at:
                    yield size, at
            done = upto

    def _pixels(
        self, rows: Span, cols: Span
    ) -> Iterator[tuple[tuple[int, int], tuple[Index, Index], Live | None]]:
        """Write loops over tiles of pixels; yields the size and place of each, as `_columns`."""
        for height, row in self._steps(rows, self.sizes.rows):
            for width, col, live in self._columns(cols):
                yield (height, width), (row, col), live

    def _columns(self, span: Span) -> Iterator[tuple[int, Index, Live | None]]:
        """As `_steps` along a row; yields also how many pixels of the tile exist, if not all.

        The last tile of a dynamic row is a whole or a half one, of a packed input also one of three
        quarters. All tiles of that have the least width of which no more cover the row. Pixels past
        the row are in the packed input, if there is one.
        """
        emit, sizes = self.emit, self.sizes.cols
        if self.copy is not None and self.is_cold:
            with emit.loop(*span, sizes[0]) as loop:
                left = emit.min(span[1] - loop.counter, sizes[0])
                yield sizes[0], loop.counter, Live(left, 1)
            return
        if isinstance(self.cols, int) or max(self.sizes.rows) > 1:
            for width, col in self._steps(span, sizes):
                yield width, col, None
            return
        first, stop = span
        width, half = sizes[0], -(-sizes[0] // 2)
        if self.copy is not None:
            # Whole and partial tiles share code: only the stores differ.
            # Tiles of fewer FMAs would wait for their latency.
            least = min(width, max(half, -(-FMA_LATENCY // self.sizes.blocks[0])))
            parts = sorted({width, -(-3 * width // 4), least}, reverse=True)
            step, count = width, ceil_div(stop - first, width)
            for part in parts[1:]:
                same = emit.compare("eq", ceil_div(stop - first, part), count)
                step = emit.select(same, part, step)
            with emit.loop(first, stop, step) as loop:
                yield from self._least(parts, loop.counter, emit.min(stop - loop.counter, step))
            return
        done = first + emit.round_down(stop - first, width)
        with emit.loop(first, done, width) as loop:
            yield width, loop.counter, None
        left = stop - done
        # Pixels past the last one repeat it, in small tiles only.
        enough = emit.compare("sge", left, half)
        with emit.when(enough):
            yield half, done, None
        done += emit.select(enough, half, 0)
        left = stop - done
        with emit.when(emit.compare("sgt", left, 0)):
            yield half, done, Live(left, 1)

    def _least(
        self, widths: Sequence[int], col: Index, left: Index
    ) -> Iterator[tuple[int, Index, Live | None]]:
        """Yield the tiles of some widths, the largest first, of which run time takes the least."""
        emit = self.emit
        width, *less = widths
        if not less:
            yield width, col, Live(left, 1)
            return
        with emit.when(emit.compare("sgt", left, less[0])) as branch:
            yield width, col, Live(emit.min(left, width), less[0] + 1)
        with emit.otherwise(branch):
            yield from self._least(less, col, left)

    def _tile(
        self, env: dict[int, Index], size: tuple[int, int, int], at: tuple[Index, Index, Index],
        packed_from: Index, live: Live | None,
        following: Callable[[Index, Index], Index] | None = None,
    ) -> None:  # fmt: skip
        emit, conv = self.emit, self.conv
        (height, width, vectors), (row, col, block) = size, at
        here = {**env, conv.col: col}
        if conv.row is not None:
            here[conv.row] = row
        start = self.image.at(here).offset
        columns: list[Index] = list(range(width))
        if live is not None and self.copy is None:
            columns = [emit.min(c, live.count - 1) for c in columns]
        pixels = [
            r * self.image.stride(conv.row) + c * self.image.stride(conv.col)
            for r in range(height)
            for c in columns
        ]
        weights = [self.weights.at(env, block + v - packed_from, block + v) for v in range(vectors)]
        begin = [self._begin(block + v - packed_from) for v in range(vectors)]
        sums = begin * len(pixels)
        inner = [conv.k, conv.taps]
        if conv.iter(conv.taps).extent == 2:
            # LLVM unrolls a loop of two steps, reuses loads of the first, and spills.
            inner.reverse()
        spans: dict[int, Span] = {}
        if self.skips is not None:
            spans = self.skips.spans(here, {conv.row: height, conv.col: width})
        loops = [i for i in (*conv.reductions, *inner) if i is not None]
        # Loops that are short at borders are outermost, also if the kernel runs is_cold: results
        # have the same bits then.
        loops.sort(key=lambda i: i not in self.first)
        ahead = None if following is None else weights[0] + following(row, col)
        sums = self._reduce(loops, spans, start, pixels, weights, sums, ahead)
        self.put_tile(here, size, sums, block, self.weights.left(block, vectors), live)

    def _begin(self, packed: Index) -> ir.Value:
        """Return the initial sums of a block."""
        emit, init = self.emit, self.conv.flat.init
        start = self.weights.start(packed)
        if init is None or (start is not None and is_zero(init)):
            return emit.constant(self.vector, 0) if start is None else start
        begun = emit.constant_of(self.vector, init)
        return begun if start is None else add(emit, begun, start)

    def _reduce(
        self, loops: list[int], spans: dict[int, Span], image: Index, pixels: list[Index],
        weights: list[Index], sums: list[ir.Value], ahead: Index | None,
    ) -> list[ir.Value]:  # fmt: skip
        emit = self.emit
        if not loops:
            if ahead is not None:
                self.weights.prefetch(ahead)
            return self._step(image, pixels, weights, sums)
        position, *rest = loops
        span = spans.get(position, (0, self.weights.extent(position)))
        carried, distance = list(sums), None
        if ahead is not None:
            # Carried, as a place that is multiplied out at each step takes slots of FMAs.
            width = self.weights.parts * self.lanes
            distance = self.weights.stride(position) // width * self.share
            carried.append(emit.index(emit.add(ahead, span[0] * distance)))
        with emit.loop(*span, 1, carried, KEEP) as loop:
            there = image + loop.counter * self.image.stride(position)
            step = loop.counter * self.weights.stride(position)
            inner = [weight + step for weight in weights]
            totals, later = loop.carried, None
            if distance is not None:
                *totals, later = loop.carried
            results = self._reduce(rest, spans, there, pixels, inner, totals, later)
            if distance is not None:
                results = [*results, emit.index(emit.add(later, distance))]
            loop.carry(results)
        return loop.results[: len(sums)]

    def _step(
        self, image: Index, pixels: list[Index], places: list[Index], sums: list[ir.Value]
    ) -> list[ir.Value]:
        emit = self.emit
        load = Loader(emit, self.image.base, self.widen, self.vector)
        weights = [self.weights.load(place) for place in places]
        result = []
        for number, pixel in enumerate(self._loaded(load, image, pixels)):
            value = emit.splat(pixel, weights[0].type)
            for v, weight in enumerate(weights):
                total = sums[number * len(weights) + v]
                if self.grouped is not None:
                    result.append(self.grouped.dot.multiply_add(emit, weight, value, total))
                else:
                    result.append(multiply_add(emit, value, weight, total))
        return result

    def _loaded(self, load: Loader, image: Index, pixels: list[Index]) -> Iterator[ir.Value]:
        """Load pixels; those that are adjacent at once, if FMAs take a lane of a vector."""
        emit = self.emit
        most = self.lanes if emit.isa.fma_by_lane and self.grouped is None else 1
        while pixels:
            first, count = pixels[0], 1
            if isinstance(first, int):
                while count < min(most, len(pixels)) and pixels[count] == first + count:
                    count += 1
            yield from load.adjacent(image + first, count)
            pixels = pixels[count:]
