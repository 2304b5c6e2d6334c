"""Matching depthwise convolution and pooling in NHWC: a vector holds channels.

Convolutions of small groups match too: lanes take each of the group's channels in turn. A register
tile holds pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_pattern import (
    DepthwisePool,
    ImageAxis,
    image_axes,
    window_sides,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import Padded
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest

# Rows of outputs, and outputs of a row, of a register tile.
_MAX_ROWS, _MAX_COLS = 4, 8
# Assumed for dynamic sizes: layers for images of 224 pixels have multiples of it.
_UNKNOWN = 14
# The overhead of a tile, in FMAs.
_START = 8


@dataclass
class NhwcDepthwisePool(DepthwisePool):
    """A window of each channel; `col` walks the channels, `row` the rows of pixels.

    Attributes:
        across: the iterator of the pixels of a row.
        slide: the reduction along a row, or None.
        fall: the reduction along columns, or None.
        picks: the reduction over the channels of a group, or None for depthwise windows.
    """

    across: int = -1
    slide: int | None = None
    fall: int | None = None
    picks: int | None = None

    def size(self, position: int | None) -> int:
        """Return the taps along a reduction."""
        return 1 if position is None else self.flat.iters[position].extent.value or 1


def match_nhwc(
    nest: Nest, flat: FlatNest, padded: Padded | None, machine: Machine
) -> NhwcDepthwisePool | None:
    """Return how a reduction slides windows over adjacent channels, None for other reductions."""
    for image, weight, widen in window_sides(flat):
        pool = _assign(nest, flat, (image, weight), widen, padded, None)
        if pool is not None and _suits(pool, machine):
            return pool
    merged = _merged(flat)
    if merged is None:
        return None
    for image, weight, widen in window_sides(merged[0]):
        pool = _assign(nest, merged[0], (image, weight), widen, padded, merged[1:])
        if pool is not None and _suits(pool, machine):
            return pool
    return None


def _merged(flat: FlatNest) -> tuple[FlatNest, int, int] | None:
    """Return a nest with one iterator for groups and their channels.

    Returns that nest, the iterator, and the reduction over the channels of a group; None if groups
    do not have as many channels of the image as of the output, adjacent in both.
    """
    for image, weight, _ in window_sides(flat):
        groups = None if weight is None else _groups(flat, image, weight)
        if groups is None:
            continue
        group, channel, picks = groups
        size = flat.iters[channel].extent
        own = next(op for op, access in flat.accesses.items() if access is image)
        accesses = {}
        for op, access in flat.accesses.items():
            strides = list(access.strides)
            if op != own and strides[group] != strides[channel] * size:
                return None
            strides[group] = SymExpr.const(1) if op == own else strides[channel]
            strides[channel] = SymExpr.const(0)
            accesses[op] = FlatAccess(access.buffer, access.offset, strides)
        iters = list(flat.iters)
        iters[group] = FlatIter(iters[group].extent * size, False)
        iters[channel] = FlatIter(SymExpr.const(1), False)
        return replace(flat, iters=iters, accesses=accesses), group, picks
    return None


def _groups(flat: FlatNest, image: FlatAccess, weight: FlatAccess) -> tuple[int, int, int] | None:
    """Return the iterators of groups, of the outputs of a group and of its inputs."""
    out = flat.accesses[flat.store]
    many = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    spatial = [i for i in many if not flat.iters[i].reduction]

    def steps(i: int) -> tuple[SymExpr, SymExpr, SymExpr]:
        return out.strides[i], weight.strides[i], image.strides[i]

    channel = next((i for i in spatial if steps(i) == (1, 1, 0)), None)
    if channel is None:
        return None
    size = flat.iters[channel].extent
    group = next((i for i in spatial if steps(i) == (size, size, size)), None)
    picks = next(
        (
            i
            for i in many
            if i not in spatial and image.strides[i] == 1 and flat.iters[i].extent == size
        ),
        None,
    )
    return None if group is None or picks is None else (group, channel, picks)


def _suits(pool: NhwcDepthwisePool, machine: Machine) -> bool:
    """Whether channels fill a vector, or masks exist for the tail."""
    lanes = machine.lanes(pool.element)
    width = pool.image.buffer.type.element_type.width
    channels = pool.flat.iters[pool.col].extent.value
    if lanes is None or lanes == 1 or not machine.can_mask(max(1, width)):
        return False
    size = pool.size(pool.picks)
    return (channels is None or channels >= lanes) and size < lanes and lanes % size == 0


def _assign(
    nest: Nest, flat: FlatNest, sides: tuple[FlatAccess, FlatAccess | None],
    widen: tuple[str | None, str | None], padded: Padded | None, merged: tuple[int, int] | None,
) -> NhwcDepthwisePool | None:  # fmt: skip
    image, weight = sides
    out = flat.accesses[flat.store]
    if padded is not None and padded.buffer != image.buffer:
        return None
    many = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    lane, picks = merged or (None, None)
    reductions = [i for i in many if flat.iters[i].reduction and i != picks]
    spatial = [i for i in many if not flat.iters[i].reduction]
    if lane is None:
        lane = next((i for i in spatial if out.strides[i] == image.strides[i] == 1), None)
    if lane is None or not reductions:
        return None
    if weight is not None and any(
        weight.strides[i] != (1 if i == lane else 0) for i in spatial
    ):  # fmt: skip
        return None
    axes = image_axes(nest, flat, image, weight, reductions)
    if axes is None or len(axes) < 2:
        return None
    channels = {lane: 1} if picks is None else {lane: flat.iters[picks].extent.value, picks: 1}
    if not _is_still(axes[-1], channels, many):
        return None
    axes[-1] = ImageAxis({lane: 1}, {}, 0)
    if padded is not None and (padded.before[-1] or padded.after[-1]):
        return None
    window_axes = [_window_axis(axis, many, reductions) for axis in axes[:-1]]
    known = [window_axis for window_axis in window_axes if window_axis is not None]
    if len(known) < len(window_axes):
        return None
    across, slide = known[-1]
    row, fall = known[-2] if len(known) > 1 else (None, None)
    if fall is None:
        # Rows that share no pixels go one by one.
        row = None
    if across is None or any(flat.iters[i].extent.value is None for i in reductions):
        return None
    taken = {i for _, i in known}
    if any(i not in taken for i in reductions):
        return None
    outer = [i for i in spatial if i not in (lane, across, row)]
    return NhwcDepthwisePool(
        flat, image, weight, out, widen, axes, padded, lane, 1, row, outer, [], reductions,
        across=across, slide=slide, fall=fall, picks=picks,
    )  # fmt: skip


def _is_still(axis: ImageAxis, channels: Mapping[int, int | None], many: Sequence[int]) -> bool:
    """Whether only channels walk an axis."""
    walk = {i: f for i, f in {**axis.outer, **axis.inner}.items() if i in many or i in channels}
    return walk == channels and axis.constant == 0


def _window_axis(
    axis: ImageAxis, many: Sequence[int], reductions: Sequence[int]
) -> tuple[int | None, int | None] | None:
    """Return the output's iterator of an axis and the reduction, None if there are more."""
    walk = [i for i in {**axis.outer, **axis.inner} if i in many]
    pixels = [i for i in walk if i not in reductions]
    steps = [i for i in walk if i in reductions]
    if len(pixels) > 1 or len(steps) > 1:
        return None
    return (pixels[0] if pixels else None, steps[0] if steps else None)


@lru_cache(maxsize=256)
def nhwc_tile(
    most: int, rows: int | None, cols: int | None, down: tuple[int, int, int],
    right: tuple[int, int, int],
) -> tuple[int, int]:  # fmt: skip
    """Return rows and columns of a register tile, by a cost model.

    Args:
        most: the maximal number of sums.
        rows: rows of outputs, None if dynamic.
        cols: outputs of a row, None if dynamic.
        down: stride, taps and dilation along columns.
        right: the same along rows.
    """
    best = (1, 1)
    least: float | None = None
    rows, cols = (_UNKNOWN if n is None else max(n, 1) for n in (rows, cols))
    for height in range(1, min(_MAX_ROWS, rows) + 1):
        for width in range(1, min(_MAX_COLS, cols, most // height) + 1):
            sums = height * width * down[1] * right[1]
            loads = _seen(height, *down) * _seen(width, *right) + down[1] * right[1]
            cost = -(-rows // height) * -(-cols // width) * (max(sums, loads) + _START)
            if least is None or cost < least:
                least, best = cost, (height, width)
    return best


def _seen(count: int, stride: int, size: int, dilation: int) -> int:
    """Return how many pixels of a line the windows of adjacent outputs see."""
    return len({o * stride + e * dilation for o in range(count) for e in range(size)})
