"""How many pixels and output channels a register tile of a convolution takes."""

from dataclasses import dataclass
from functools import lru_cache

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution

# Cycles from a multiply-add to the next that needs its sum: so many sums keep the units busy.
_LATENCY = 8
# What a step of the innermost loop takes beside its arithmetic, in multiply-adds.
_STEP = 1
# Where sizes are known only at run time.
_UNKNOWN_PIXELS, _UNKNOWN_BLOCKS = 224, 4
# Pixels of tiles that are written once: as many sums as keep the units busy.
_FEW_PIXELS = 8


@dataclass(frozen=True)
class TileSizes:
    """The tiles of a convolution; each list has the largest first, then what covers a rest.

    Attributes:
        blocks: vectors of output channels.
        rows: rows of pixels.
        cols: pixels of a row.
    """

    blocks: tuple[int, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]


@lru_cache(maxsize=256)
def choose_tiles(
    registers: int, blocks: int | None, rows: int | None, cols: int | None
) -> TileSizes:
    """Return the tiles that take the fewest cycles by a count of what they compute and load.

    Args:
        registers: how many vector registers there are.
        blocks: vectors of output channels, None when unknown.
        rows: rows of pixels, None when unknown.
        cols: pixels of a row, None when unknown.
    """
    best: tuple[float, TileSizes] | None = None
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
                cost = _cost(sizes, blocks, rows, cols)
                if best is None or cost < best[0]:
                    best = (cost, sizes)
    if best is None:
        return TileSizes((1,), (1,), (1,))
    return best[1]


def _sizes(extent: int | None, size: int, rests: tuple[int, ...]) -> tuple[int, ...]:
    """Return a size, and what covers the rest of an extent that it does not divide."""
    if extent is None:
        return (size, *(rest for rest in rests if rest < size))
    return (size, extent % size) if extent % size else (size,)


def _cost(sizes: TileSizes, blocks: int | None, rows: int | None, cols: int | None) -> float:
    total = 0.0
    extents = (blocks or _UNKNOWN_BLOCKS, rows or 1, cols or _UNKNOWN_PIXELS)
    for vectors, b in _counts(sizes.blocks, extents[0]):
        for height, r in _counts(sizes.rows, extents[1]):
            for width, c in _counts(sizes.cols, extents[2]):
                total += b * r * c * _step(height * width, vectors)
    return total


def _counts(sizes: tuple[int, ...], extent: int) -> list[tuple[int, int]]:
    """Return for each size how many tiles of it there are."""
    counts = []
    for size in sizes:
        counts.append((size, extent // size))
        extent %= size
    return counts


def _step(pixels: int, vectors: int) -> float:
    """Return what one step of the innermost loop takes; two loads go with two multiply-adds."""
    return max(pixels * vectors, pixels + vectors, _LATENCY) + _STEP


def small_tiles(conv: Convolution, machine: Machine) -> TileSizes:
    """Return the tiles of a convolution that is seldom computed: as little code as there can be."""
    width = min(_FEW_PIXELS, max(1, machine.registers - 2))
    cols = conv.iter(conv.col).extent.value
    return TileSizes((1,), (1,), (width if cols is None else max(1, min(width, cols)), 1))


def tiles_of(conv: Convolution, machine: Machine) -> TileSizes:
    """Return the tiles for a convolution on a machine."""
    lanes = machine.lanes(conv.element) or 1
    channels = conv.iter(conv.lane).extent.value
    blocks = None if channels is None else -(-channels // lanes)
    if conv.unit is None and blocks is not None and conv.blocks:
        outer = conv.iter(conv.blocks[-1]).extent.value
        blocks = None if outer is None else blocks * outer
    pixels = [conv.iter(position).extent.value for position in (conv.row, conv.col)]
    return choose_tiles(machine.registers, blocks, *pixels)
