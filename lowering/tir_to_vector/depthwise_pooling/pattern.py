"""Matching depthwise convolution and pooling, in NCHW and in NHWC."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.pattern import match_product, widened
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest
from relax_mlir.lowering.tir_to_vector.window import Padded, Window, index_terms

# Output channels of a group from which on vectors of channels are better.
_FEW_CHANNELS = 4
# The maximal stride: larger ones would load mostly unused pixels.
_MAX_STRIDE = 4


@dataclass
class ImageAxis:
    """A dimension of the image: its iterators, each with its factor.

    Attributes:
        outer: those that do not move inside a plane.
        inner: those that do.
        constant: the constant of the index.
    """

    outer: dict[int, int]
    inner: dict[int, int]
    constant: int

    @property
    def factors(self) -> dict[int, int]:
        """All its iterators, each with its factor."""
        return {**self.outer, **self.inner}


@dataclass(kw_only=True)
class DepthwisePool(Window):
    """A window that slides over planes.

    Attributes:
        image, weight: the accesses; pooling has no weight.
        widen: for image and weight the conversion to the type of the sum, or None.
        axes: the image's dimensions.
        col: the iterator of vectors.
        stride: the distance of the pixels of neighbouring outputs.
        row: the iterator that tiles take several steps of, or None.
        outer: iterators over planes.
        inner: other iterators of the outputs of a plane.
        reductions: those of the window, innermost last.
    """

    image: FlatAccess
    weight: FlatAccess | None
    widen: tuple[str | None, str | None]
    axes: list[ImageAxis]
    col: int
    stride: int
    row: int | None
    outer: list[int]
    inner: list[int]
    reductions: list[int]

    @property
    def along(self) -> int:
        """The iterator along which vectors of sums are stored."""
        return self.col

    @property
    def fill(self) -> ir.Attribute | None:
        """The padding, in the type of the sum; None without padding."""
        if self.padded is None or self.widen[0] is None:
            return None if self.padded is None else self.padded.fill
        fill, element = self.padded.fill, self.element
        if isinstance(fill, ir.FloatAttr):
            return ir.FloatAttr.get(element, fill.value)
        value, width = ir.IntegerAttr(fill).value, ir.IntegerType(fill.type).width
        return ir.IntegerAttr.get(
            element, value % (1 << width) if self.widen[0] == "arith.extui" else value
        )


def match_nchw(flat: FlatNest, padded: Padded | None, machine: Machine) -> DepthwisePool | None:
    """Return how a reduction slides a window over planes, None for other reductions."""
    if machine.lanes(flat.written.type.element_type) is None:
        return None
    for sides, widen in window_sides(flat):
        pool = _assign(flat, sides, widen, padded)
        if pool is not None:
            return pool
    return None


def window_sides(
    flat: FlatNest,
) -> list[tuple[tuple[FlatAccess, FlatAccess | None], tuple[str | None, str | None]]]:
    """Return candidates for image and weight of a window, and their conversions.

    Pooling has no weight; other reductions have no candidates.
    """
    pooled = _pooled(flat)
    if pooled is not None:
        image, widen = pooled
        return [((image, None), (widen, None))]
    product = match_product(flat)
    if isinstance(product, str):
        return []
    sides, _ = product
    return [
        ((image, weight), (widen, weight_widen))
        for (image, widen), (weight, weight_widen) in (sides, sides[::-1])
    ]


def _pooled(flat: FlatNest) -> tuple[FlatAccess, str | None] | None:
    """Return the only load of a reduction, and its conversion, None for other reductions."""
    loads = [op for op in flat.slice if op.name == "memref.load"]
    value, widen = widened(flat.value)
    if len(flat.slice) != 1 + (widen is not None):
        return None
    if len(loads) != 1 or value != loads[0].results[0]:
        return None
    return flat.accesses[loads[0]], widen


def _assign(
    flat: FlatNest, sides: tuple[FlatAccess, FlatAccess | None],
    widen: tuple[str | None, str | None], padded: Padded | None,
) -> DepthwisePool | None:  # fmt: skip
    (image, weight), out = sides, flat.accesses[flat.store]

    def seen(access: FlatAccess | None, i: int) -> bool:
        return access is not None and bool(access.strides[i] != 0)

    spatial = [i for i, it in enumerate(flat.iters) if not it.reduction]
    reductions = [i for i, it in enumerate(flat.iters) if it.reduction]
    pixels = [i for i in spatial if seen(image, i) and not seen(weight, i)]
    channels = [i for i in spatial if seen(weight, i) and not seen(image, i)]
    many = [flat.iters[i].extent.value for i in channels]
    if any(size is None or size > _FEW_CHANNELS for size in many):
        return None
    col = next((i for i in pixels if out.strides[i] == 1), None)
    if col is None or not reductions:
        return None
    stride = image.strides[col].value
    if stride is None or not 0 < stride <= _MAX_STRIDE:
        return None
    axes = image_axes(flat, image, weight, reductions)
    if axes is None or len(axes[-1].inner) < 2 or col not in axes[-1].inner:
        return None
    if any(i != col and i not in reductions for i in axes[-1].inner):
        return None
    sliding = {i for axis in axes for i in axis.inner}
    if any(i not in sliding for i in reductions):
        return None
    if weight is not None and padded is None and stride == 1:
        slid = [i for axis in axes for i in axis.inner if len(axis.inner) > 1 and i in reductions]
        if all(flat.iters[i].extent == 1 for i in slid):
            # A GEMM: no window slides.
            return None
    if padded is not None and padded.buffer != image.buffer:
        return None
    if padded is not None and any(
        (axis.outer or axis.constant) and (before or after)
        for axis, before, after in zip(axes, padded.before, padded.after, strict=True)
    ):
        return None
    rows = [i for i in pixels if i != col and i in sliding]
    outer = [i for i in spatial if i not in sliding and i not in channels]
    inner = [i for i in spatial if i not in (*outer, col, *rows[-1:])]
    return DepthwisePool(
        flat=flat, image=image, weight=weight, widen=widen, axes=axes, padded=padded, col=col,
        stride=stride, row=rows[-1] if rows else None, outer=outer, inner=inner,
        reductions=reductions,
    )  # fmt: skip


def image_axes(
    flat: FlatNest, image: FlatAccess, weight: FlatAccess | None, reductions: list[int]
) -> list[ImageAxis] | None:
    """Return the dimensions of an image, None if an index is unknown or negative."""
    axes = []
    for expr, terms in index_terms(flat, image) or ():
        constant = expr.value
        if constant is None:
            return None
        slides = any(i in reductions for i in terms)
        # Iterators of the weight too are those of groups, which begin planes.
        groups = [] if weight is None else [i for i in terms if weight.strides[i] != 0]
        moves = [i for i in terms if slides and (i in reductions or i not in groups)]
        axes.append(
            ImageAxis(
                {i: f for i, f in terms.items() if i not in moves},
                {i: terms[i] for i in moves},
                constant,
            )
        )
    return axes or None


# Rows of outputs, and outputs of a row, of a register tile.
_MAX_ROWS, _MAX_COLS = 4, 8
# Assumed for dynamic sizes: layers for images of 224 pixels have multiples of it.
_UNKNOWN = 14
# The overhead of a tile, in FMAs.
_START = 8


@dataclass(kw_only=True)
class NhwcDepthwisePool(DepthwisePool):
    """A window of each channel; `col` walks the channels, `row` the rows of pixels.

    Attributes:
        across: the iterator of the pixels of a row.
        slide: the reduction along a row, or None.
        fall: the reduction along columns, or None.
        picks: the reduction over the channels of a group, or None for depthwise windows.
    """

    across: int
    slide: int | None
    fall: int | None
    picks: int | None

    def size(self, position: int | None) -> int:
        """Return the taps along a reduction."""
        return 1 if position is None else self.flat.iters[position].extent.value or 1


def match_nhwc(flat: FlatNest, padded: Padded | None, machine: Machine) -> NhwcDepthwisePool | None:
    """Return how a reduction slides windows over adjacent channels, None for other reductions."""
    for nest, lane, picks in _with_lanes(flat):
        for sides, widen in window_sides(nest):
            pool = _assign_channels(nest, sides, widen, padded, lane, picks)
            if pool is not None and _suits(pool, machine):
                return pool
    return None


def _with_lanes(flat: FlatNest) -> Iterator[tuple[FlatNest, int | None, int | None]]:
    """Yield a nest, then the one with one iterator for groups and their channels, if there is one.

    With the second go that iterator and the reduction over the channels of a group. There is none
    if groups do not have as many channels of the image as of the output, adjacent in both.
    """
    yield flat, None, None
    for (image, weight), _ in window_sides(flat):
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
                return
            strides[group] = SymExpr.const(1) if op == own else strides[channel]
            strides[channel] = SymExpr.const(0)
            accesses[op] = FlatAccess(access.buffer, access.offset, strides)
        iters = list(flat.iters)
        iters[group] = FlatIter(iters[group].extent * size, False)
        iters[channel] = FlatIter(SymExpr.const(1), False)
        yield replace(flat, iters=iters, accesses=accesses), group, picks
        return


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


def _assign_channels(
    flat: FlatNest, sides: tuple[FlatAccess, FlatAccess | None],
    widen: tuple[str | None, str | None], padded: Padded | None, lane: int | None,
    picks: int | None,
) -> NhwcDepthwisePool | None:  # fmt: skip
    image, weight = sides
    out = flat.accesses[flat.store]
    if padded is not None and padded.buffer != image.buffer:
        return None
    many = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    reductions = [i for i in many if flat.iters[i].reduction and i != picks]
    spatial = [i for i in many if not flat.iters[i].reduction]
    if lane is None:
        lane = next((i for i in spatial if out.strides[i] == image.strides[i] == 1), None)
    if lane is None or not reductions:
        return None
    if weight is not None and any(weight.strides[i] != int(i == lane) for i in spatial):
        return None
    axes = image_axes(flat, image, weight, reductions)
    if axes is None or len(axes) < 2:
        return None
    channels = {lane: 1} if picks is None else {lane: flat.iters[picks].extent.value, picks: 1}
    last = {i: f for i, f in axes[-1].factors.items() if i in many or i in channels}
    if last != channels or axes[-1].constant != 0:
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
        flat=flat, image=image, weight=weight, widen=widen, axes=axes, padded=padded, col=lane,
        stride=1, row=row, outer=outer, inner=[], reductions=reductions, across=across,
        slide=slide, fall=fall, picks=picks,
    )  # fmt: skip


def _window_axis(
    axis: ImageAxis, many: Sequence[int], reductions: Sequence[int]
) -> tuple[int | None, int | None] | None:
    """Return the output's iterator of an axis and the reduction, None if there are more."""
    walk = [i for i in axis.factors if i in many]
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
