"""Recognising windows whose channels lie side by side: each has a lane, and a window of its own.

Depthwise convolutions and pooling with channels last. A register tile is of pixels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.padding import Padded
from relax_mlir.lowering.tir_to_vector.planes import PlaneAxis, Planes, plane_axes, window_sides

# Rows of outputs, and outputs of a row, of a register tile.
_MOST_ROWS, _MOST_COLS = 4, 8
# Where sizes are known at run time only: what layers of images of 224 pixels are multiples of.
_UNKNOWN = 14
# What a tile takes beside its arithmetic, in multiply-adds.
_START = 8


@dataclass
class ChannelWindows(Planes):
    """Windows of one channel each; `col` walks the channels, `row` the rows of pixels.

    Attributes:
        across: the iterator of the pixels of a row.
        slide: the reduction along a row, None for a window of one column.
        fall: the reduction along columns, None for a window of one row.
    """

    across: int = -1
    slide: int | None = None
    fall: int | None = None

    def size(self, position: int | None) -> int:
        """Return how many elements a window has along a reduction."""
        return 1 if position is None else self.flat.iters[position].extent.value or 1


def match_channels(
    nest: Nest, flat: FlatNest, padded: Padded | None, machine: Machine
) -> ChannelWindows | None:
    """Return how a reduction slides windows over channels that lie side by side, None for not."""
    for image, kernel, widen in window_sides(flat):
        found = _assign(nest, flat, (image, kernel), widen, padded)
        if found is not None and _suits(found, machine):
            return found
    return None


def _suits(found: ChannelWindows, machine: Machine) -> bool:
    """Whether there is a vector of channels, and masks for those that are not there."""
    lanes = machine.lanes(found.element)
    width = found.image.buffer.type.element_type.width
    channels = found.flat.iters[found.col].extent.value
    if lanes is None or lanes == 1 or not machine.can_mask(max(1, width)):
        return False
    return channels is None or channels >= lanes


def _assign(
    nest: Nest, flat: FlatNest, sides: tuple[FlatAccess, FlatAccess | None],
    widen: tuple[str | None, str | None], padded: Padded | None,
) -> ChannelWindows | None:  # fmt: skip
    image, kernel = sides
    out = flat.accesses[flat.store]
    if padded is not None and padded.buffer != image.buffer:
        return None
    many = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    reductions = [i for i in many if flat.iters[i].reduction]
    spatial = [i for i in many if i not in reductions]
    lane = next((i for i in spatial if out.strides[i] == image.strides[i] == 1), None)
    if lane is None or not reductions:
        return None
    if kernel is not None and any(
        kernel.strides[i] != (1 if i == lane else 0) for i in spatial
    ):  # fmt: skip
        return None
    axes = plane_axes(nest, flat, image, kernel, reductions)
    if axes is None or len(axes) < 2 or not _is_still(axes[-1], lane, many):
        return None
    if padded is not None and (padded.before[-1] or padded.after[-1]):
        return None
    ways = [_way(axis, many, reductions) for axis in axes[:-1]]
    known = [way for way in ways if way is not None]
    if len(known) < len(ways):
        return None
    across, slide = known[-1]
    row, fall = known[-2] if len(known) > 1 else (None, None)
    if fall is None:
        # Rows that share nothing go one by one.
        row = None
    if across is None or any(flat.iters[i].extent.value is None for i in reductions):
        return None
    taken = {i for _, i in known}
    if any(i not in taken for i in reductions):
        return None
    outer = [i for i in spatial if i not in (lane, across, row)]
    return ChannelWindows(
        flat, image, kernel, out, widen, axes, padded, lane, 1, row, outer, [], reductions,
        across=across, slide=slide, fall=fall,
    )  # fmt: skip


def _is_still(axis: PlaneAxis, lane: int, many: Sequence[int]) -> bool:
    """Whether nothing but channels walks an axis."""
    walk = {i: f for i, f in {**axis.outer, **axis.inner}.items() if i in many}
    return walk == {lane: 1} and axis.constant == 0


def _way(
    axis: PlaneAxis, many: Sequence[int], reductions: Sequence[int]
) -> tuple[int | None, int | None] | None:
    """Return the output's iterator of an axis and the reduction, None where there are more."""
    walk = [i for i in {**axis.outer, **axis.inner} if i in many]
    pixels = [i for i in walk if i not in reductions]
    steps = [i for i in walk if i in reductions]
    if len(pixels) > 1 or len(steps) > 1:
        return None
    return (pixels[0] if pixels else None, steps[0] if steps else None)


@lru_cache(maxsize=256)
def channel_tile(
    most: int, rows: int | None, cols: int | None, down: tuple[int, int, int],
    right: tuple[int, int, int],
) -> tuple[int, int]:  # fmt: skip
    """Return rows and columns of a register tile: those that take the fewest cycles by a count.

    Args:
        most: how many sums there may be.
        rows: rows of outputs, None when unknown.
        cols: outputs of a row, None when unknown.
        down: stride, elements of the window and the distance between them, along columns.
        right: the same along rows.
    """
    best = (1, 1)
    least: float | None = None
    rows, cols = (_UNKNOWN if n is None else max(n, 1) for n in (rows, cols))
    for height in range(1, min(_MOST_ROWS, rows) + 1):
        for width in range(1, min(_MOST_COLS, cols, most // height) + 1):
            sums = height * width * down[1] * right[1]
            loads = _seen(height, *down) * _seen(width, *right) + down[1] * right[1]
            cost = -(-rows // height) * -(-cols // width) * (max(sums, loads) + _START)
            if least is None or cost < least:
                least, best = cost, (height, width)
    return best


def _seen(count: int, stride: int, size: int, apart: int) -> int:
    """Return how many pixels of a line the windows of adjacent outputs see."""
    return len({o * stride + e * apart for o in range(count) for e in range(size)})
