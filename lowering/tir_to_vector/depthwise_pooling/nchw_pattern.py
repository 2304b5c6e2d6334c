"""Matching depthwise convolution and pooling, with vectors along a row of a plane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Epilogue
from relax_mlir.lowering.tir_to_vector.contraction.pattern import match_product, widened
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.epilogue import (
    join_window,
    walks,
    window_nests,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import (
    Padded,
    match_first_reduction,
)
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest, linear

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


@dataclass
class DepthwisePool:
    """A window that slides over planes.

    Attributes:
        flat: the nest; all iterators below are positions in it.
        image, weight, out: the accesses; pooling has no weight.
        widen: for image and weight the conversion to the type of the sum, or None.
        axes: the image's dimensions.
        padded: the padded copy that the image is, or None.
        col: the iterator of vectors.
        stride: the distance of the pixels of neighbouring outputs.
        row: the iterator that tiles take several steps of, or None.
        outer: iterators over planes.
        inner: other iterators of the outputs of a plane.
        reductions: those of the window, innermost last.
        epilogue: the epilogue, or None.
        followers: the nests that the epilogue replaces.
    """

    flat: FlatNest
    image: FlatAccess
    weight: FlatAccess | None
    out: FlatAccess
    widen: tuple[str | None, str | None]
    axes: list[ImageAxis]
    padded: Padded | None
    col: int
    stride: int
    row: int | None
    outer: list[int]
    inner: list[int]
    reductions: list[int]
    epilogue: Epilogue | None = None
    followers: list[Nest] = field(default_factory=list)

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.out.buffer.type.element_type

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

    @property
    def nests(self) -> list[Nest]:
        """The nests that it replaces."""
        return window_nests(self.flat, self.padded, self.followers)


def match_nchw(
    nest: Nest, flat: FlatNest, padded: Padded | None, machine: Machine
) -> DepthwisePool | None:
    """Return how a reduction slides a window over planes, None for other reductions."""
    out = flat.accesses[flat.store]
    if machine.lanes(out.buffer.type.element_type) is None:
        return None
    for image, weight, widen in window_sides(flat):
        pool = _assign(nest, flat, (image, weight), widen, out, padded)
        if pool is not None:
            return pool
    return None


def window_sides(
    flat: FlatNest,
) -> list[tuple[FlatAccess, FlatAccess | None, tuple[str | None, str | None]]]:
    """Return candidates for image and weight of a window, and their conversions.

    Pooling has no weight; other reductions have no candidates.
    """
    pooled = _pooled(flat)
    if pooled is not None:
        image, widen = pooled
        return [(image, None, (widen, None))]
    product = match_product(flat)
    if isinstance(product, str):
        return []
    sides, _ = product
    return [
        (image, weight, (widen, weight_widen))
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
    nest: Nest, flat: FlatNest, sides: tuple[FlatAccess, FlatAccess | None],
    widen: tuple[str | None, str | None], out: FlatAccess, padded: Padded | None,
) -> DepthwisePool | None:  # fmt: skip
    image, weight = sides

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
    axes = image_axes(nest, flat, image, weight, reductions)
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
        flat, image, weight, out, widen, axes, padded, col, stride, rows[-1] if rows else None,
        outer, inner, reductions,
    )  # fmt: skip


def image_axes(
    nest: Nest, flat: FlatNest, image: FlatAccess, weight: FlatAccess | None, reductions: list[int]
) -> list[ImageAxis] | None:
    """Return the dimensions of an image, None if an index is unknown or negative."""
    access = next(load for load in nest.loads if flat.accesses[load.op] is image)
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    axes = []
    for expr in access.exprs:
        if expr is None:
            return None
        constant, factors = linear(expr)
        terms = {order.index(i): factor for i, factor in factors.items() if factor}
        if constant < 0 or any(factor < 0 for factor in terms.values()):
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
    return axes


Match = Callable[[Nest, FlatNest, Padded | None, Machine], DepthwisePool | None]


def find_depthwise_pool(
    tops: Sequence[ir.Operation], machine: Machine, match: Match
) -> DepthwisePool | None:
    """Return the window that some nests begin with, or pad an image for.

    Args:
        tops: the nests.
        machine: what for.
        match: the matcher.
    """
    padded, flat = match_first_reduction(tops)
    if flat is None:
        return None

    def extend(extended: FlatNest) -> DepthwisePool | None:
        return match(flat.nest, extended, padded, machine)

    def fits(pool: DepthwisePool) -> bool:
        return walks(pool.flat, pool.col)

    pool = extend(flat)
    if pool is None:
        return None
    joined = join_window(flat, tops[1 if padded is None else 3 :], extend, fits)
    if joined is None:
        return pool
    return replace(joined.window, epilogue=joined.epilogue, followers=joined.followers)
