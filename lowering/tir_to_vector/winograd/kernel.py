"""Winograd convolution: blocks of tiles that stay in cache.

Tiles are transformed, multiplied with the transformed weights, one GEMM for each element of a tile,
and transformed back. If an output is infinite or NaN, all outputs are computed again directly: a
tile's outputs would share what only some of them see.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import RegisterTile, tile_sums
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.convolution.kernel import direct_candidates
from relax_mlir.lowering.tir_to_vector.convolution.pattern import (
    find_convolution,
    find_packed_convolution,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import Size, Work, load_cycles
from relax_mlir.lowering.tir_to_vector.nest_elements import work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.winograd.image import Run, TransformedImage, TransformedSums
from relax_mlir.lowering.tir_to_vector.winograd.pattern import (
    COLUMNS,
    GROUPS,
    IMAGES,
    INPUTS,
    OUTPUTS,
    ROWS,
    TAPS,
    TILES,
    Winograd,
    find_winograd,
    shared_elements,
)
from relax_mlir.lowering.tir_to_vector.winograd.sizes import (
    SUMMED,
    WEIGHT_BYTES,
    WinogradVariant,
    WinogradVariants,
    block_sizes,
    fastest_variant,
    knows_tiles,
    winograd_cost,
)


def _match(nests: Nests) -> Problem | str:
    conv = find_winograd(nests.tops)
    if conv is None or conv.note is None:
        return "no weights of 3 x 3 are transformed"
    tops = [nest.top for nest in conv.nests]
    direct = find_packed_convolution(tops, nests.machine) or find_convolution(tops, nests.machine)
    if direct is None:
        return "there is no direct convolution for outputs that are not finite"
    if [nest.top for nest in direct.nests] != tops:
        return "the direct convolution has another epilogue"
    return Problem(conv.nests, replace(conv, direct=direct), "window", conv.flat.nest)


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    conv: Winograd = problem.form
    assert conv.note is not None  # asked before
    assert conv.direct is not None
    outputs, panel, _ = conv.note
    # Images of dynamic size may be too small for Winograd: then the direct kernel runs each time.
    seldom, *_ = direct_candidates(conv.direct, machine, is_cold=knows_tiles(conv))

    def work(size: Size) -> Work:
        tiles = size(conv.extent(IMAGES))
        for axis in (ROWS, COLUMNS):
            tiles *= -(-size(conv.extent(axis)) // outputs)
        cycles = winograd_cost(conv, machine, outputs)
        # The choice of tiles takes weights to be in memory; a cache may have them.
        loads = load_cycles(cycles.fixed * WEIGHT_BYTES, machine)
        # Partial sums are loaded and stored.
        each = cycles.each * (1 + 2 / SUMMED[outputs])
        total = (loads + each * tiles) * machine.fma_units
        return Work(total, seldom.work(size).bytes)

    rows = block_sizes(conv, machine, outputs, panel).rows
    winograd = Candidate(
        f"Winograd {outputs}x{outputs}",
        lambda emit, machine: _emit(conv, emit, lambda: seldom.write(emit, machine)),
        work, (rows, panel), lambda emit: True,
    )  # fmt: skip
    return [winograd, *direct_candidates(conv.direct, machine)]


WINOGRAD = KernelClass("Winograd convolution", _match, _candidates, one_nest=False)


def _emit(conv: Winograd, emit: Emitter, direct: Callable[[], None]) -> None:
    """Write the kernel, and the direct convolution, for outputs that are not finite."""
    assert conv.note is not None  # or it would be computed directly
    outputs, *_ = conv.note
    again = emit.alloc(1, emit.index_type)
    emit.store(emit.index(1), again, [0])

    def write(tiles: list[int], first: ir.Value | None) -> None:
        emit.store(emit.index(0), again, [0])
        _Writer(conv, emit, again, WinogradVariants(conv, emit, tiles, first)).write()

    if knows_tiles(conv):
        write([outputs], None)
    else:
        # Weights of large tiles are more bytes; small tiles use a part of them.
        tiles = [tile for tile in TILES if tile <= outputs]
        pays, small = fastest_variant(conv, emit, tiles)
        with emit.when(pays):
            write(tiles, small if len(tiles) > 1 else None)
    with emit.when(emit.compare("ne", emit.load(again, [0]), 0)):
        direct()


class _Writer:
    def __init__(
        self, conv: Winograd, emit: Emitter, again: ir.Value, variants: WinogradVariants
    ) -> None:
        assert conv.note is not None  # or it would be computed directly
        self.conv, self.emit, self.again = conv, emit, again
        *_, weights = conv.note
        self.variants, self.panel = variants, variants.panel
        self.outputs = variants.pick(lambda variant: variant.outputs)
        self.weights = emit.flatten_once(weights)
        self.vector = variants.vector
        self.lanes: int = self.vector.shape[0]
        self.side = variants.pick(lambda variant: variant.side)
        self.run = variants.pick(lambda variant: variant.sizes.run)
        # With a dynamic number of tiles, register tiles are the same for both.
        self.rows = variants.all[-1].sizes.rows
        self.rest = variants.all[-1].sizes.rest
        self.inputs = conv.extent(INPUTS).value or 1
        self.groups = conv.extent(GROUPS).value or 1
        self.panels = -(-(conv.extent(OUTPUTS).value or 1) // self.panel)
        # Whether L2 does not hold the weights.
        elements = (variants.largest + TAPS - 1) ** 2
        weights = self.groups * self.panels * elements * self.inputs * self.panel
        self.is_far: bool = weights * 4 > emit.machine.l2_bytes
        # Tiles of a column and of a row; runs of a row, of all images, and of a block.
        self.high, self.wide = (
            ceil_div(emit.size(conv.extent(axis)), self.outputs) for axis in (ROWS, COLUMNS)
        )
        self.across = ceil_div(self.wide, self.run)
        self.runs = emit.size(conv.extent(IMAGES)) * self.high * self.across
        run = emit.max(emit.min(self.wide, self.run), 1)
        self.together = emit.max(variants.pick(lambda variant: variant.sizes.tiles) // run, 1)
        room = emit.min(self.together, self.runs) * run + (self.rest - 1)
        self.image = TransformedImage(conv, emit, variants, room)
        self.sums = TransformedSums(conv, emit, variants, room)

    def write(self) -> None:
        """Write the loops."""
        emit = self.emit
        with self._parallel_region() as (groups, runs, panels):
            self.image.allocate()
            self.sums.allocate()
            with (
                emit.each_step(*groups) as group,
                emit.blocks(*runs, self.together) as (first, last),
            ):
                start = self._number(first)
                tiles = self._number(last) - start
                with emit.loop(first, last) as run:
                    self.image.transform(self._run(run.counter, start), group)
                self.image.clear(tiles, tiles + (self.rest - 1))
                with emit.loop(*panels) as panel:
                    self._products(group * self.panels + panel.counter, tiles)
                    with emit.loop(first, last) as run:
                        self.sums.write(self._run(run.counter, start), group, panel.counter)
            self._store_not_finite()

    @contextmanager
    def _parallel_region(self) -> Iterator[tuple[Span, Span, Span]]:
        """Split groups, runs of tiles or panels."""
        emit = self.emit
        # With fewer runs each thread would read all weights from memory for a part of a block.
        least = emit.max(self.together, 2) if self.is_far else 2
        dims = {
            "runs": ParallelDim(self.runs, min_extent=least * emit.threads),
            "groups": ParallelDim(self.groups), "panels": ParallelDim(self.panels),
        }  # fmt: skip
        imbalance = {name: dim.load_imbalance(emit.threads) for name, dim in dims.items()}
        order = ["runs", *sorted(("groups", "panels"), key=imbalance.__getitem__)]
        order.sort(key=lambda name: name != "groups" or imbalance[name] != 1)
        with emit.parallel_region(
            [dims[name] for name in order], work_of(emit, self.conv.flat, 1)
        ) as got:
            spans = dict(zip(order, got, strict=True))
            yield spans["groups"], spans["runs"], spans["panels"]

    def _number(self, run: Index) -> Index:
        """Return the number of tiles before a run."""
        row = run // self.across
        part = run - row * self.across
        return row * self.wide + part * self.run

    def _run(self, number: Index, start: Index) -> Run:
        """Return a run of a block that begins with a tile."""
        emit, size = self.emit, self.run
        line = number // self.across
        first = (number - line * self.across) * size
        image = line // self.high
        row = line - image * self.high
        return Run(
            image, row * self.outputs, first * self.outputs,
            emit.min(self.wide - first, size), self._number(number) - start,
        )  # fmt: skip

    def _products(self, panel: Index, tiles: Index) -> None:
        """Multiply a block by a panel of weights, for each element of the tiles.

        Weights that L2 does not hold are prefetched: tiles share those of the next element.
        """
        emit, rows, rest = self.emit, self.rows, self.rest
        size, last = self.inputs * self.panel, self.side * self.side
        share = ceil_div(self.panel, emit.max(ceil_div(tiles, rows), 1))
        with emit.loop(0, last) as element:
            image = element.counter * self.image.element
            sums = element.counter * self.sums.element
            weights, following = self._weight(panel, element.counter) * size, None
            if self.is_far:
                after, next_panel = element.counter + 1, self._weight(panel + 1, 0)
                is_last = emit.compare("eq", after, last)
                following = emit.select(is_last, next_panel, self._weight(panel, after)) * size

            def tile(count: int, first: Index) -> None:
                ahead = None
                if following is not None:
                    done = first // rows * (share * self.inputs)
                    ahead = StridedRef(self.weights, following + done, {"k": share})
                b = StridedRef(self.weights, weights, {"k": self.panel}, ahead=ahead)
                self._tile(count, image + first * self.lanes, b, sums + first * self.panel)

            whole = emit.round_down(tiles, rows)
            for first, last_tile, count in ((0, whole, rows), (whole, tiles, rest)):
                with emit.loop(first, last_tile, count) as loop:
                    tile(count, loop.counter)

    def _weight(self, panel: Index, element: Index) -> Index:
        """Return the number of an element of a panel among all weights."""
        emit, largest = self.emit, self.variants.largest
        shared = shared_elements(largest)
        rest = (largest + TAPS - 1) ** 2 - shared
        near = panel * shared + element
        if not rest:
            return near
        far = panel * rest + element + (self.groups * self.panels - 1) * shared
        return emit.select(emit.compare("slt", element, shared), near, far)

    def _tile(self, rows: int, image: Index, b: StridedRef, sums: Index) -> None:
        """Multiply some tiles by a panel."""
        emit, vectors = self.emit, self.panel // self.lanes
        slabs = self.variants.pick(self._summed)
        several = self.image.slabs > min(self._summed(variant) for variant in self.variants.all)
        with emit.loop(0, self.image.slabs, slabs) as part:
            total = self._sums(rows, vectors, image, b, part.counter, slabs)
            first = emit.compare("eq", part.counter, 0)
            held = emit.mask(emit.select(first, 0, self.lanes), self.lanes)
            for row in range(rows):
                for v in range(vectors):
                    place = sums + (row * self.panel + v * self.lanes)
                    value = total[row * vectors + v]
                    if several:
                        before = emit.vector_load(self.sums.base, [place], self.vector, held)
                        value = emit.op("arith.addf", [before, value], self.vector)
                    emit.vector_store(value, self.sums.base, [place])

    def _summed(self, variant: WinogradVariant) -> int:
        """Return how many slabs of channels are summed at a time."""
        return max(1, SUMMED[variant.outputs] // self.lanes)

    def _sums(
        self, rows: int, vectors: int, image: Index, b: StridedRef, part: Index, slabs: Index
    ) -> list[ir.Value]:
        emit, lanes = self.emit, self.lanes
        last = emit.min(part + slabs, self.image.slabs)
        zero = emit.constant(self.vector, 0)
        with emit.loop(part, last, 1, [zero] * (rows * vectors), KEEP) as slab:
            at = image + slab.counter * self.image.slab
            channel = slab.counter * lanes
            count: Index = lanes
            if self.inputs % lanes:
                count = emit.min(self.inputs - channel, lanes)
            tile = RegisterTile(emit, rows, vectors, self.vector, in_order=True)
            a = StridedRef(self.image.base, at, {"m": lanes, "k": 1})
            here = replace(b, offset=b.offset + channel * self.panel)
            if b.ahead is not None:
                later = b.ahead.offset + channel * b.ahead.stride("k")
                here.ahead = replace(b.ahead, offset=later)
            slab.carry(tile_sums(tile, a, here, count, begin=slab.carried))
        return slab.results

    def _store_not_finite(self) -> None:
        """Store whether an output of this thread is not finite."""
        emit = self.emit
        total = emit.reduced(emit.vector_load(self.sums.not_finite, [0], self.vector), "add")
        with emit.when(emit.compare_floats("uno", total, total)):
            emit.store(emit.index(1), self.again, [0])
