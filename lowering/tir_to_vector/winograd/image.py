"""Winograd transforms of images into slabs, and of sums into outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile
from relax_mlir.lowering.tir_to_vector.window import WindowWriter
from relax_mlir.lowering.tir_to_vector.winograd.pattern import (
    COLUMNS,
    GROUPS,
    IMAGES,
    INPUTS,
    OUTPUTS,
    ROWS,
    TAPS,
    Winograd,
    axis_places,
)
from relax_mlir.lowering.tir_to_vector.winograd.sizes import WinogradVariant, WinogradVariants


@dataclass(frozen=True)
class Run:
    """Adjacent tiles of a row.

    Attributes:
        image, row, column: of the output, where the first tile begins.
        tiles: the number of tiles.
        first: the number of the first one in its block.
    """

    image: Index
    row: Index
    column: Index
    tiles: Index
    first: Index


class _Tiles:
    """Elements of transformed tiles of a block, and a copy of the pixels of a run.

    Args:
        conv: the convolution.
        emit: where to write.
        variants: the tiles.
        vectors: those of a tile in a slab of the buffer, and of all slabs.
        tiles: those that a block has room for.
        halo: pixels of a run beside those of its outputs.

    Attributes:
        base: the buffer of the elements.
        element: the stride of the elements of a tile.
    """

    def __init__(
        self, conv: Winograd, emit: Emitter, variants: WinogradVariants, tiles: Index,
        vectors: int, halo: int,
    ) -> None:  # fmt: skip
        self._conv, self._emit, self._variants = conv, emit, variants
        self._vectors, self._halo = vectors, halo
        self._outputs = variants.pick(lambda variant: variant.outputs)
        self._vector = variants.vector
        self._lanes: int = self._vector.shape[0]
        # An odd number of lines, so that elements fall into different sets. No gaps where a dynamic
        # block is small: they would be prefetched with the tiles.
        self.element: Index = (tiles * vectors | 1) * self._lanes
        self._row = variants.pick(self._line)

    def _line(self, variant: WinogradVariant) -> int:
        """The length of a row of the copy, with room for a square of vectors at its end."""
        return (variant.sizes.run * variant.outputs + self._halo + self._lanes) * self._lanes

    def allocate(self) -> None:
        """Allocate a block and a run."""
        emit, element, all_ = self._emit, self._conv.element, self._variants.all
        sizes = [each.side**2 * (each.sizes.room * self._vectors | 1) for each in all_]
        self.base = emit.alloc(max(sizes) * self._lanes, element)
        self._copy = emit.alloc(max(each.side * self._line(each) for each in all_), element)

    def _map(
        self, transform: Callable[[Sequence[ir.Value]], list[ir.Value]], source: ir.Value,
        places: Sequence[Index], to: ir.Value, targets: Sequence[Index],
    ) -> list[ir.Value]:  # fmt: skip
        """Transform vectors at some places of a buffer, store the results and return them."""
        emit = self._emit
        values = transform([emit.vector_load(source, [at], self._vector) for at in places])
        for value, place in zip(values, targets, strict=False):
            emit.vector_store(value, to, [place])
        return values


class TransformedImage(_Tiles):
    """The transformed tiles of a block, `[element][slab of channels][tile][channel]`.

    Attributes:
        slabs: their number.
        slab: the stride of slabs, each of a vector of channels.
    """

    def __init__(
        self, conv: Winograd, emit: Emitter, variants: WinogradVariants, tiles: Index
    ) -> None:
        self._inputs = conv.extent(INPUTS).value or 1
        self.slabs: int = -(-self._inputs // variants.vector.shape[0])
        super().__init__(conv, emit, variants, tiles, self.slabs, TAPS - 1)
        self._side = variants.pick(lambda variant: variant.side)
        self.slab: Index = tiles * self._lanes
        self._rows, self._columns = emit.size(conv.size(ROWS)), emit.size(conv.size(COLUMNS))
        self._strides = [emit.size(stride) for stride in conv.source_strides]
        self._source = emit.flatten_once(conv.source)
        self._zero = emit.constant(self._vector, 0)

    def clear(self, first: Index, last: Index) -> None:
        """Zero tiles that are read but do not exist."""
        emit, lanes = self._emit, self._lanes
        with (
            emit.loop(0, self._side * self._side) as element,
            emit.loop(0, self.slabs) as slab,
            emit.loop(first, last) as tile,
        ):
            place = element.counter * self.element + slab.counter * self.slab
            place += tile.counter * lanes
            emit.vector_store(self._zero, self.base, [place])

    def transform(self, run: Run, group: Index) -> None:
        """Transform a run of tiles, all channels of a group."""
        emit, side = self._emit, self._side
        row = run.row - self._conv.before(ROWS)
        column = run.column - self._conv.before(COLUMNS)
        count = run.tiles * self._outputs + (TAPS - 1)
        low = emit.min(emit.max(-column, 0), count)
        high = emit.max(emit.min(self._columns - column, count), low)
        images, channels, rows, columns = self._strides
        start = run.image * images + column * columns
        first = group * self._inputs
        with emit.loop(0, self.slabs) as slab:
            channel = slab.counter * self._lanes
            there = start + (first + channel) * channels
            with emit.loop(0, side) as step:
                here = row + step.counter
                to = step.counter * self._row
                inside = emit.both(
                    emit.compare("sge", here, 0), emit.compare("slt", here, self._rows)
                )
                with emit.when(inside) as branch:
                    from_ = there + here * rows
                    self._zeros(to, 0, low)
                    left = self._inputs - channel
                    if self._conv.channels_last:
                        self._pixels(from_, to, low, high, left)
                    else:
                        self._transposed(from_, to, low, high, left)
                    self._zeros(to, high, count)
                with emit.otherwise(branch):
                    self._zeros(to, 0, count)
            place = slab.counter * self.slab

            def transformed(variant: WinogradVariant) -> None:
                self._down(variant, count)
                self._across(variant, run, place)

            self._variants.each(transformed)

    def _zeros(self, to: Index, low: Index, high: Index) -> None:
        emit = self._emit
        with emit.loop(low, high) as pixel:
            place = to + pixel.counter * self._lanes
            emit.vector_store(self._zero, self._copy, [place])

    def _pixels(self, from_: Index, to: Index, low: Index, high: Index, left: Index) -> None:
        """Copy pixels of a row in NHWC."""
        emit, lanes = self._emit, self._lanes
        mask = None if self._inputs % lanes == 0 else emit.mask(left, lanes)
        with emit.loop(low, high) as pixel:
            place = from_ + pixel.counter * self._strides[3]
            value = emit.vector_load(self._source, [place], self._vector, mask)
            emit.vector_store(value, self._copy, [to + pixel.counter * lanes])

    def _transposed(self, from_: Index, to: Index, low: Index, high: Index, left: Index) -> None:
        """Copy pixels of a row in NCHW."""
        emit, lanes = self._emit, self._lanes
        with emit.loop(low, high, lanes) as pixel:
            at = from_ + pixel.counter
            mask = emit.mask(high - pixel.counter, lanes)
            vectors = []
            for lane in range(lanes):
                # Channels past the last one repeat it, and meet weights of zero.
                number: Index = lane
                if self._inputs % lanes:
                    number = emit.min(lane, left - 1)
                place = at + number * self._strides[1]
                vectors.append(emit.vector_load(self._source, [place], self._vector, mask))
            for lane, value in enumerate(transpose_tile(emit, vectors)):
                place = to + (pixel.counter + lane) * lanes
                emit.vector_store(value, self._copy, [place])

    def _down(self, variant: WinogradVariant, count: Index) -> None:
        """Transform the columns of a run in place."""
        emit = self._emit
        with emit.loop(0, count) as column:
            at = column.counter * self._lanes
            lines = [at + step * self._line(variant) for step in range(variant.side)]
            targets = [lines[place] for place in axis_places(variant.outputs)]
            self._map(variant.transforms.image, self._copy, lines, self._copy, targets)

    def _across(self, variant: WinogradVariant, run: Run, slab: Index) -> None:
        """Transform the rows of each tile, and store all elements for the multiplication."""
        emit, lanes = self._emit, self._lanes
        start = slab + run.first * lanes
        with emit.loop(0, run.tiles) as tile, emit.loop(0, variant.side) as step:
            at = tile.counter * (variant.outputs * lanes)
            at += step.counter * self._line(variant)
            to = start + tile.counter * lanes
            places = [at + number * lanes for number in range(variant.side)]
            targets = [
                to + number * self.element for number in variant.elements(emit, step.counter)
            ]
            self._map(variant.transforms.image, self._copy, places, self.base, targets)


class TransformedSums(_Tiles):
    """The sums of a block for a panel of channels, `[element][tile][channel]`.

    Attributes:
        not_finite: a buffer of a vector that is NaN in some lane if an output was infinite or NaN.
    """

    def __init__(
        self, conv: Winograd, emit: Emitter, variants: WinogradVariants, tiles: Index
    ) -> None:
        self._panel = variants.panel
        super().__init__(conv, emit, variants, tiles, self._panel // variants.vector.shape[0], 0)
        self._channels = conv.extent(OUTPUTS).value or 1
        self._extents = [emit.size(conv.extent(axis)) for axis in (ROWS, COLUMNS)]
        self._store = WindowWriter(conv, emit)

    def allocate(self) -> None:
        """Allocate a block, a run, and the mark of outputs that are not finite."""
        super().allocate()
        emit, element = self._emit, self._conv.element
        self._square = emit.alloc(self._lanes * self._lanes, element)
        self.not_finite: ir.Value = emit.alloc(self._lanes, element)
        emit.vector_store(emit.constant(self._vector, 0), self.not_finite, [0])

    def write(self, run: Run, group: Index, panel: Index) -> None:
        """Write the outputs of a run of tiles, by the numbers of their group and of its panel."""
        emit, lanes = self._emit, self._lanes
        first = panel * self._panel
        left = emit.min(self._channels - first, self._panel)
        rows, columns = (
            emit.min(extent - at, most)
            for extent, at, most in zip(
                self._extents, (run.row, run.column),
                (self._outputs, run.tiles * self._outputs), strict=True,
            )
        )  # fmt: skip
        with emit.loop(0, left, lanes) as vector:

            def transformed(variant: WinogradVariant, vector: Index = vector.counter) -> None:
                self._across(variant, run, vector)
                self._down(variant, columns)

            self._variants.each(transformed)
            channel = first + vector.counter
            env = {IMAGES: run.image, GROUPS: group}
            live = emit.min(left - vector.counter, lanes)
            if self._conv.along == OUTPUTS:
                self._pixels(env, run, channel, live, (rows, columns))
            else:
                self._transposed(env, run, channel, live, (rows, columns))

    def _across(self, variant: WinogradVariant, run: Run, vector: Index) -> None:
        """Transform the rows of each tile to sums for its outputs' columns."""
        emit, lanes = self._emit, self._lanes
        start = run.first * self._panel + vector
        with emit.loop(0, run.tiles) as tile, emit.loop(0, variant.side) as step:
            at = start + tile.counter * self._panel
            places = [at + number * self.element for number in variant.elements(emit, step.counter)]
            to = tile.counter * (variant.outputs * lanes)
            to += step.counter * self._line(variant)
            targets = [to + number * lanes for number in range(variant.outputs)]
            self._map(variant.transforms.sums, self.base, places, self._copy, targets)

    def _down(self, variant: WinogradVariant, columns: Index) -> None:
        """Transform columns to outputs in place, and test whether these are finite."""
        emit, lanes = self._emit, self._lanes
        zero = emit.constant(self._vector, 0)
        not_finite = emit.vector_load(self.not_finite, [0], self._vector)
        with emit.loop(0, columns, 1, [not_finite]) as column:
            at = column.counter * lanes
            lines = [at + step * self._line(variant) for step in range(variant.side)]
            places = [lines[place] for place in axis_places(variant.outputs)]
            (not_finite,) = column.carried
            for value in self._map(variant.transforms.sums, self._copy, places, self._copy, lines):
                # Zero times an infinite number or NaN is NaN.
                not_finite = emit.fused(value, zero, not_finite)
            column.carry([not_finite])
        emit.vector_store(column.results[0], self.not_finite, [0])

    def _pixels(
        self, env: dict[int, Index], run: Run, channel: Index, live: Index,
        sizes: Span,
    ) -> None:  # fmt: skip
        """Write vectors of channels."""
        emit = self._emit
        mask = None if self._channels % self._lanes == 0 else emit.mask(live, self._lanes)
        with emit.loop(0, sizes[0]) as row, emit.loop(0, sizes[1]) as column:
            at = row.counter * self._row
            at += column.counter * self._lanes
            value = emit.vector_load(self._copy, [at], self._vector)
            here = {ROWS: run.row + row.counter, COLUMNS: run.column + column.counter}
            self._store.put(value, {**env, **here, OUTPUTS: channel}, mask)

    def _transposed(
        self, env: dict[int, Index], run: Run, channel: Index, live: Index,
        sizes: Span,
    ) -> None:  # fmt: skip
        """Write vectors of adjacent pixels."""
        emit, lanes = self._emit, self._lanes
        with emit.loop(0, sizes[0]) as row, emit.loop(0, sizes[1], lanes) as column:
            at = row.counter * self._row
            at += column.counter * lanes
            pixels = [
                emit.vector_load(self._copy, [at + lane * lanes], self._vector)
                for lane in range(lanes)
            ]
            for lane, value in enumerate(transpose_tile(emit, pixels)):
                emit.vector_store(value, self._square, [lane * lanes])
            mask = emit.mask(sizes[1] - column.counter, lanes)
            there = {**env, ROWS: run.row + row.counter, COLUMNS: run.column + column.counter}
            with emit.loop(0, live) as lane:
                value = emit.vector_load(self._square, [lane.counter * lanes], self._vector)
                self._store.put(value, {**there, OUTPUTS: channel + lane.counter}, mask)
