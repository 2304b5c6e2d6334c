"""Register tiles of a convolution, by a cost model."""

import math
from dataclasses import dataclass
from functools import lru_cache

from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.nest_cost import FMA_LATENCY, tile_cycles

# Assumed for dynamic sizes.
_UNKNOWN_PIXELS, _UNKNOWN_BLOCKS = 224, 4


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
    found: list[tuple[float, TileSizes]] = []
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
                found.append((_cost(sizes, blocks, rows, cols), sizes))
    found.sort(key=lambda each: each[0])
    return found or [(1.0, TileSizes((1,), (1,), (1,)))]


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
