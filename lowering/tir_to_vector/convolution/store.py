"""Stores of a convolution's register tile: NHWC as it is, NCHW after a register transpose."""

from contextlib import nullcontext
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.convolution.weight_blocks import VnniWeights, WeightBlocks
from relax_mlir.lowering.tir_to_vector.emit import Emitter, add
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile
from relax_mlir.lowering.tir_to_vector.window import WindowWriter


@dataclass(frozen=True)
class Live:
    """How many pixels of a tile of one row exist.

    Attributes:
        count: the number.
        least: a lower bound of it.
    """

    count: Index
    least: int


class TileStore(WindowWriter):
    """Stores the sums of a tile: for each pixel vectors of output channels.

    Attributes:
        weights: the blocks of weights.
    """

    def __init__(self, conv: Convolution, emit: Emitter) -> None:
        super().__init__(conv, emit)
        self.conv = conv
        blocks = WeightBlocks if conv.grouped is None else VnniWeights
        self.weights: WeightBlocks = blocks(conv, emit, self.vector)
        self._scratch: ir.Value | None = None

    def allocate_sums(self, pixels: int) -> None:
        """Allocate the sums of pixels that are finished in a loop."""
        if self.finish is not None:
            whole = -(-pixels // self.lanes) * self.lanes
            size = whole * self.lanes
            self._scratch = self.emit.alloc(size, self.vector.element_type)

    def put_tile(
        self, here: dict[int, Index], size: tuple[int, int, int], sums: list[ir.Value],
        block: Index, left: Index, live: Live | None = None,
    ) -> None:  # fmt: skip
        """Write one tile.

        Args:
            here: counters of all iterators but the lanes, at the tile's first pixel.
            size: rows, pixels of a row, vectors of channels.
            sums: vectors of the first pixel, of the next in its row, and so on.
            block: the number of the first vector of channels.
            left: the number of channels from it on.
            live: how many pixels of its one row exist, None for all.
        """
        conv = self.conv
        height, width, vectors = size
        along_channels = conv.along == conv.lane
        places: list[tuple[Index, Index]] = []
        for v in range(vectors):
            env = {**here, **self.weights.place(block + v)}
            mine = [sums[p * vectors + v] for p in range(height * width)]
            count: Index = self.lanes
            if left != vectors * self.lanes:
                count = self.emit.max(self.emit.min(left - v * self.lanes, self.lanes), 0)
            if self.finish is not None:
                finish = self._finish_channels if along_channels else self._finish_pixels
                finish(env, mine, width, count, live)
            elif along_channels:
                places.append((self.out.at(env).offset, count))
            else:
                self._along_pixels(self.out.at(env).offset, mine, width, count, live)
        if places:
            self._along_channels(places, sums, width, live)

    def _finish_channels(
        self, env: dict[int, Index], sums: list[ir.Value], width: int, count: Index,
        live: Live | None,
    ) -> None:  # fmt: skip
        emit, lanes, conv = self.emit, self.lanes, self.conv
        mask = None if count == lanes else emit.mask(count, lanes)
        if len(sums) == 1:
            self.put(sums[0], env, mask)
            return
        for number, value in enumerate(sums):
            emit.vector_store(value, self._scratch, [number * lanes])
        for first in range(0, len(sums), width):
            with emit.loop(0, width if live is None else live.count) as pixel:
                at = (pixel.counter + first) * lanes
                value = emit.vector_load(self._scratch, [at], self.vector)
                there = {**env, conv.col: env[conv.col] + pixel.counter}
                if conv.row is not None:
                    there[conv.row] = env[conv.row] + first // width
                self.put(value, there, mask)

    def _finish_pixels(
        self, env: dict[int, Index], sums: list[ir.Value], width: int, count: Index,
        live: Live | None,
    ) -> None:  # fmt: skip
        emit, lanes, conv = self.emit, self.lanes, self.conv
        for number, value in enumerate(self._transposed(sums)):
            emit.vector_store(value, self._scratch, [number * lanes])
        adjacent = len(sums) == width or self._is_adjacent(width)
        with emit.loop(0, count) as lane:
            there = {**env, conv.lane: env[conv.lane] + lane.counter}
            for first in range(0, len(sums), lanes):
                at = (lane.counter + first) * lanes
                value = emit.vector_load(self._scratch, [at], self.vector)
                part = min(lanes, len(sums) - first)
                for low, high in self._runs(first, part, len(sums) if adjacent else width):
                    row, place = divmod(low, width)
                    if conv.row is not None:
                        there = {**there, conv.row: env[conv.row] + row}
                    # A run's pixels lie where those of the lanes before them would begin.
                    start = env[conv.col] + (place - (low - first))
                    mask = self._between(low - first, high - first)
                    if live is not None:
                        mask = emit.mask(live.count - low, lanes)
                    self.put(value, {**there, conv.col: start}, mask)

    def _transposed(self, sums: list[ir.Value]) -> list[ir.Value]:
        """Return for each vector of pixels a vector for each channel."""
        lanes, transposed = self.lanes, []
        for first in range(0, len(sums), lanes):
            part = sums[first : first + lanes]
            transposed += transpose_tile(self.emit, part + [part[-1]] * (lanes - len(part)))
        return transposed

    def _is_adjacent(self, width: int) -> bool:
        """Whether rows of `width` pixels are contiguous in all accesses."""
        conv = self.conv
        if conv.row is None:
            return True
        own = (*conv.flat.slice, conv.flat.total)
        return all(
            access.strides[conv.row] == access.strides[conv.col] * width
            for op, access in conv.flat.accesses.items()
            if op not in own
        )

    def _pixel(self, number: int, width: int) -> Index:
        row, col = divmod(number, width)
        return row * self.out.stride(self.conv.row) + col * self.out.stride(self.conv.col)

    def _along_channels(
        self, places: list[tuple[Index, Index]], sums: list[ir.Value], width: int,
        live: Live | None,
    ) -> None:  # fmt: skip
        """Write vectors of channels, each with a place and a number of lanes."""
        emit, lanes, vectors = self.emit, self.lanes, len(places)
        masks = [None if count == lanes else emit.mask(count, lanes) for _, count in places]
        for number in range(len(sums) // vectors):
            pixel = self._pixel(number, width)
            mine = sums[number * vectors : (number + 1) * vectors]
            with (
                nullcontext()
                if live is None or number < live.least
                else emit.when(emit.compare("slt", number, live.count))
            ):
                for value, (start, _), mask in zip(mine, places, masks, strict=True):
                    self._put(value, start + pixel, mask)

    def _along_pixels(
        self, start: Index, sums: list[ir.Value], width: int, count: Index, live: Live | None
    ) -> None:
        emit, lanes, conv = self.emit, self.lanes, self.conv
        distance = self.out.stride(conv.lane)
        adjacent = len(sums) == width or self._is_adjacent(width)
        everything = self._transposed(sums)
        for first in range(0, len(sums), lanes):
            transposed = everything[first : first + lanes]
            part = min(lanes, len(sums) - first)
            runs = self._runs(first, part, len(sums) if adjacent else width)
            mask = None if live is None else emit.mask(live.count - first, lanes)
            most = count if isinstance(count, int) else lanes
            for lane in range(most):
                place = start + lane * distance
                known = isinstance(count, int)
                with nullcontext() if known else emit.when(emit.compare("slt", lane, count)):
                    for low, high in runs:
                        # A run's pixels lie where those of the lanes before them would begin.
                        there = place + self._pixel(low, width) - (low - first)
                        each = mask or self._between(low - first, high - first)
                        self._put(transposed[lane], there, each)

    def _runs(self, first: int, count: int, width: int) -> list[tuple[int, int]]:
        """Return the runs of adjacent pixels, as first and last."""
        stops = [i for i in range(first + 1, first + count) if i % width == 0]
        return list(zip([first, *stops], [*stops, first + count], strict=True))

    def _between(self, low: int, high: int) -> ir.Value | None:
        """Return a mask of adjacent lanes, None for all."""
        return None if high - low == self.lanes else self.emit.mask(high, self.lanes, low)

    def _put(self, value: ir.Value, place: Index, mask: ir.Value | None) -> None:
        emit, base = self.emit, self.out.base
        if self.conv.flat.init is None:
            held = emit.vector_load(base, [place], self.vector, mask)
            value = add(emit, held, value)
        emit.vector_store(value, base, [place], mask)
