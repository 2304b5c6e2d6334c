"""Register tiles of a convolution, by a cost model."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution, PackedAxis
from relax_mlir.lowering.tir_to_vector.emit import Emitter, add
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.nest_cost import FMA_LATENCY, tile_cycles

# Assumed for dynamic sizes.
_UNKNOWN_PIXELS, _UNKNOWN_BLOCKS = 112, 4


@dataclass(frozen=True)
class TileSizes:
    """The tiles of a convolution; each tuple has the largest size first, then those of tails.

    Attributes:
        blocks: vectors of output channels.
        rows: rows of pixels.
        cols: pixels of a row.
    """

    blocks: tuple[int, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]


@lru_cache(maxsize=256)
def rank_tiles(
    registers: int, blocks: int | None, rows: int | None, cols: int | None
) -> list[tuple[float, TileSizes]]:
    """Return tiles with the cycles of a step of a vector, counting FMAs and loads, the best first.

    Args:
        registers: vector registers.
        blocks: vectors of output channels, None if dynamic.
        rows: rows of pixels, None if dynamic.
        cols: pixels of a row, None if dynamic.
    """
    result: list[tuple[float, TileSizes]] = []
    for vectors in range(1, 5):
        most = (registers - 1 - vectors) // vectors
        if most < 1 or (blocks is not None and vectors > blocks):
            continue
        block_sizes = _sizes(blocks, vectors, (1,))
        for width in range(1, most + 1):
            if cols is not None and width > cols:
                break
            many = range(1, most // width + 1) if cols == width and rows is not None else (1,)
            for height in many:
                if rows is not None and height > rows:
                    break
                sizes = TileSizes(
                    block_sizes, _sizes(rows, height, (1,)), _sizes(cols, width, (4, 1))
                )
                result.append((_cost(sizes, blocks, rows, cols), sizes))
    result.sort(key=lambda each: each[0])
    return result or [(1.0, TileSizes((1,), (1,), (1,)))]


def _sizes(extent: int | None, size: int, rests: tuple[int, ...]) -> tuple[int, ...]:
    """Return a size, and the sizes that cover the tail of an extent."""
    if extent is None:
        return (size, *(rest for rest in rests if rest < size))
    return (size, extent % size) if extent % size else (size,)


def _cost(sizes: TileSizes, blocks: int | None, rows: int | None, cols: int | None) -> float:
    total = 0.0
    extents = (blocks or _UNKNOWN_BLOCKS, rows or 1, cols or _UNKNOWN_PIXELS)
    for vectors, b in _counts(sizes.blocks, extents[0]):
        for height, r in _counts(sizes.rows, extents[1]):
            for width, c in _counts(sizes.cols, extents[2]):
                total += b * r * c * tile_cycles(height * width, vectors)
    return total / max(1, math.prod(extents))


def _counts(sizes: tuple[int, ...], extent: int) -> list[tuple[int, int]]:
    """Return the number of tiles of each size."""
    counts = []
    for size in sizes:
        counts.append((size, extent // size))
        extent %= size
    return counts


def small_tiles(conv: Convolution, machine: Machine) -> TileSizes:
    """Return the tiles of a convolution that runs seldom: as little code as possible."""
    width = min(FMA_LATENCY, max(1, machine.registers - 2))
    cols = conv.iter(conv.col).extent.value
    return TileSizes((1,), (1,), (width if cols is None else max(1, min(width, cols)), 1))


def tiles_of(conv: Convolution, machine: Machine) -> list[tuple[float, TileSizes]]:
    """Return the tiles for a convolution on a machine, as `rank_tiles` does."""
    lanes = machine.lanes(conv.element) or 1
    channels = conv.iter(conv.lane).extent.value
    blocks = None if channels is None else -(-channels // lanes)
    if conv.unit is None and blocks is not None and conv.blocks:
        outer = conv.iter(conv.blocks[-1]).extent.value
        blocks = None if outer is None else blocks * outer
    pixels = [conv.iter(position).extent.value for position in (conv.row, conv.col)]
    return rank_tiles(machine.registers, blocks, *pixels)


# The share of FMAs along an axis that pays for loops of dynamic length, and FMAs of each weight
# that pay for testing it.
_MIN_SHARE, _MIN_USES = 0.06, 8
# The dilation from which on windows of dynamic images meet much padding.
_FAR = 4
# Vectors of weights that are tested at a time.
_AT_ONCE = 4
# The minimal width of a tile: narrower ones cost more than they leave out.
_MIN_COLS = 8


def padding_tap_tiles(sizes: TileSizes, conv: Convolution) -> TileSizes:
    """Return tiles whose dynamic rows are no wider than taps are apart.

    Tiles at a border then meet only padding with some taps.
    """
    for axis in () if conv.packed is None else conv.packed.axes:
        if axis.pixel != conv.col or axis.size is None or axis.tap is None:
            continue
        apart = axis.terms[axis.tap]
        unknown = conv.flat.iters[conv.col].extent.value is None
        if unknown and _MIN_COLS <= apart < sizes.cols[0]:
            return replace(sizes, cols=(apart, *(c for c in sizes.cols[1:] if c < apart)))
    return sizes


class PaddingTaps:
    """The taps that each tile leaves out: `prepare` once, before the parallel region, then `spans`.

    Args:
        conv: the convolution, of a packed input.
        counts: the maximal steps of each iterator of pixels of a tile.
        emit: where to write.
    """

    def __init__(self, conv: Convolution, counts: dict[int | None, int], emit: Emitter) -> None:
        assert conv.packed is not None  # only a packed input has padding
        self._conv, self._emit = conv, emit
        self._axes = conv.packed.axes
        self._finite: bool | ir.Value | None = None
        flips_signs = conv.grouped is not None and conv.grouped.dot.flips_signs
        # Those along which taps may be left out, by their reductions.
        self._skips: dict[int, PackedAxis] = {}
        for axis in () if conv.flat.init is None or flips_signs else self._axes:
            if axis.tap is not None and axis.constant == 0 and self._pays(axis, axis.tap, counts):
                self._skips[axis.tap] = axis

    @property
    def steps(self) -> list[int]:
        """The reductions along which tiles leave out taps."""
        return list(self._skips)

    def _pays(self, axis: PackedAxis, tap: int, counts: dict[int | None, int]) -> bool:
        iters, pixel, size = self._conv.flat.iters, axis.pixel, axis.size
        if size is None or pixel is None:
            return False
        elements, outputs = iters[tap].extent.value, iters[pixel].extent.value
        apart, stride, count = axis.terms[tap], axis.terms[pixel], counts.get(pixel, 1)
        if elements is None or not apart or not stride:
            return False
        if outputs is None or size.value is None:
            return apart >= _FAR and elements > 1
        before, image = axis.before, size.value
        used = all_ = 0
        for first in range(0, outputs, count):
            last = min(first + count, outputs) - 1
            all_ += elements
            used += sum(
                last * stride + e * apart >= before and first * stride + e * apart < before + image
                for e in range(elements)
            )
        walked = [other.pixel for other in self._axes if other.pixel is not None]
        saved, pixels = all_ - used, math.prod(iters[i].extent.value or outputs for i in walked)
        return saved >= _MIN_SHARE * all_ and saved * pixels >= _MIN_USES * all_ > 0

    def prepare(self) -> None:
        """Test the weights, if anything may be left out."""
        conv, emit = self._conv, self._emit
        if not self._skips or not isinstance(conv.element, ir.FloatType):
            return
        buffer = conv.weight.buffer
        lanes = emit.machine.lanes(conv.element) or 1
        vector = ir.VectorType.get([lanes], conv.element)
        load = Loader(emit, emit.flatten_once(buffer), conv.widen[1], vector)
        size: Index = math.prod(emit.dim(buffer, d) for d in range(buffer.type.rank))
        zero = emit.constant(vector, 0)

        def after(total: ir.Value, at: Index, mask: ir.Value | None) -> ir.Value:
            # Zero times a number that is not finite is NaN.
            nothing = emit.op("arith.mulf", [load.vectors(at, mask), zero], vector)
            return add(emit, total, nothing)

        many = _AT_ONCE * lanes
        whole = emit.round_down(size, many)
        with emit.loop(0, whole, many, [zero] * _AT_ONCE) as loop:
            places = [loop.counter + number * lanes for number in range(_AT_ONCE)]
            loop.carry([after(*each, None) for each in zip(loop.carried, places, strict=True)])
        total = reduce(partial(add, emit), loop.results)
        with emit.loop(whole, size, lanes, [total]) as loop:
            mask = emit.mask(size - loop.counter, lanes)
            loop.carry([after(loop.carried[0], loop.counter, mask)])
        (total,) = loop.results
        self._finite = emit.negated(emit.reduced(emit.compare_floats("uno", total, total), "or"))

    def spans(self, here: dict[int, Index], counts: dict[int | None, int]) -> dict[int, Span]:
        """Return for each reduction of `steps` the range of taps of a tile.

        Args:
            here: counters at the tile's first output.
            counts: the steps of each iterator of pixels of the tile.
        """
        emit, spans = self._emit, dict[int, Span]()
        for tap, axis in self._skips.items():
            assert axis.size is not None  # of others nothing is left out
            stride, apart = axis.terms[axis.pixel], axis.terms[tap]
            elements = emit.size(self._conv.flat.iters[tap].extent)
            first = here[axis.pixel] * stride
            last = first + (counts.get(axis.pixel, 1) - 1) * stride
            image_end = emit.size(axis.size) + axis.before
            low = self._up(axis.before - last, apart, elements)
            high = self._up(image_end - first, apart, elements)
            if self._finite is not None:
                low = emit.select(self._finite, low, 0)
                high = emit.select(self._finite, high, elements)
            spans[tap] = low, high
        return spans

    def _up(self, distance: Index, apart: int, most: Index) -> Index:
        """Return the first tap at least that far away."""
        return self._emit.min(ceil_div(self._emit.max(distance, 0), apart), most)
