"""Matching convolutions: `C[.., c, x] += A[.., x * s + t * d] * B[c, .., t]` in any layout."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.epilogue import Epilogue
from relax_mlir.lowering.tir_to_vector.contraction.pattern import match_product
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import join_window, walks
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatIter,
    FlatNest,
    collapse,
    flatten_nest,
)

# Taps along an axis up to which they are unrolled.
MAX_TAPS = 8


@dataclass
class Convolution:
    """A convolution; iterators are positions in the flat nest.

    Attributes:
        flat: the nest.
        image, weight, out: the accesses.
        widen: for image and weight the conversion to the type of the sum, or None.
        lane: the output channels of vectors.
        col: the pixels of a register tile: the output's innermost.
        row: other pixels that tiles may have rows of, or None.
        outer: the other spatial iterators.
        blocks: those of `outer` that only weight and output have, outermost first.
        k: the reduction iterator of the inner loop, None if the window is all there is.
        taps: the reduction iterator that is unrolled, or None.
        reductions: the other reduction iterators.
        unit: the distance of neighbours along the reductions in the weight, which has to be packed;
            None if it is in blocks already, in the type of the sum or one that widens to it.
        epilogue: the epilogue, or None.
    """

    flat: FlatNest
    image: FlatAccess
    weight: FlatAccess
    out: FlatAccess
    widen: tuple[str | None, str | None]
    lane: int
    col: int
    row: int | None
    outer: list[int]
    blocks: list[int]
    k: int | None
    taps: int | None
    reductions: list[int]
    unit: SymExpr | None
    epilogue: Epilogue | None = None

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.out.buffer.type.element_type

    @property
    def along(self) -> int:
        """The iterator along which vectors of sums are stored."""
        return self.lane if self.out.strides[self.lane] == 1 else self.col

    def iter(self, position: int | None) -> FlatIter:
        """Return an iterator; one step for none."""
        return FlatIter(SymExpr.const(1), False) if position is None else self.flat.iters[position]


def match_convolution(flat: FlatNest, machine: Machine) -> Convolution | str:
    """Return how a reduction is a convolution, or why it is none.

    Args:
        flat: a nest without iterators of one step.
        machine: what it shall run on.
    """
    product = match_product(flat)
    if isinstance(product, str):
        return product
    sides, out = product
    lanes = machine.lanes(out.buffer.type.element_type)
    if lanes is None:
        return "its sums have no vector form"
    spatial = [i for i, it in enumerate(flat.iters) if not it.reduction]
    reductions = [i for i, it in enumerate(flat.iters) if it.reduction]
    for image, weight in (sides, sides[::-1]):
        conv = _assign(flat, lanes, (image, weight), out, spatial, reductions)
        if conv is not None:
            return conv
    return "it slides no window"


def find_convolution(
    nest: Nest, rest: Sequence[ir.Operation], machine: Machine
) -> tuple[Convolution, list[Nest]] | None:
    """Return the convolution that a nest is, and the nests that its epilogue replaces.

    Args:
        nest: a reduction's.
        rest: the loops and blocks after it.
        machine: what it shall run on.
    """

    def match(flat: FlatNest) -> Convolution | None:
        conv = match_convolution(collapse(flat), machine)
        return None if isinstance(conv, str) else conv

    joined = join_window(flatten_nest(nest), rest, match, lambda each: walks(each.flat, each.along))
    if joined is None:
        return None
    return replace(joined.window, epilogue=joined.epilogue), joined.followers


def _assign(
    flat: FlatNest, lanes: int, sides: tuple, out: FlatAccess, spatial: list[int],
    reductions: list[int],
) -> Convolution | None:  # fmt: skip
    (image, image_widen), (weight, weight_widen) = sides

    def seen(access: FlatAccess, i: int) -> bool:
        return bool(access.strides[i] != 0)

    pixels = [i for i in spatial if seen(image, i) and not seen(weight, i)]
    channels = [i for i in spatial if seen(weight, i) and not seen(image, i)]
    if not pixels or not channels or not reductions:
        return None
    if any(not seen(image, i) or not seen(weight, i) for i in reductions):
        return None
    lane = next((i for i in channels if _is_block(flat, weight, i, lanes)), None)
    unit = None
    if lane is None:
        lane = max(channels, key=lambda i: (flat.iters[i].extent.value or lanes, i))
        unit = _unit_stride(flat, weight, reductions)
        # With unpacked weights and one reduction it is a GEMM.
        if unit is None or len(reductions) == 1:
            return None
    col = next((i for i in pixels if out.strides[i] == 1), pixels[-1])
    if out.strides[lane] != 1 and out.strides[col] != 1:
        return None
    rows = [i for i in pixels if i != col]
    row = rows[-1] if rows else None
    taps, k = _inner(flat, image, reductions)
    rest = [i for i in reductions if i not in (k, taps)]
    outer = [i for i in spatial if i not in (lane, col, row)]
    blocks = [i for i in channels if i != lane]
    return Convolution(
        flat, image, weight, out, (image_widen, weight_widen), lane, col, row, outer, blocks, k,
        taps, rest, unit,
    )  # fmt: skip


def _is_block(flat: FlatNest, weight: FlatAccess, position: int, lanes: int) -> bool:
    """Whether an iterator walks the lanes of a few vectors in packed weights."""
    extent = flat.iters[position].extent.value
    return weight.strides[position] == 1 and extent in (lanes, 2 * lanes, 4 * lanes)


def _inner(
    flat: FlatNest, image: FlatAccess, reductions: list[int]
) -> tuple[int | None, int | None]:
    """Return the reductions that are unrolled and looped over inside.

    The first is the narrow one along which neighbours in the image are nearest.
    """

    def size(i: int) -> int:
        value = flat.iters[i].extent.value
        return 1 << 30 if value is None else value

    def near(i: int) -> int:
        value = image.strides[i].value
        return 1 << 30 if value is None else abs(value)

    narrow = [i for i in reductions if size(i) <= MAX_TAPS]
    taps = min(narrow, key=near) if narrow else None
    rest = [i for i in reductions if i != taps]
    # Static channels rather than a dynamic window: those are more.
    return taps, max(rest, key=lambda i: (_is_known(flat, i), size(i), -i)) if rest else None


def _is_known(flat: FlatNest, i: int) -> bool:
    return flat.iters[i].extent.value is not None


def _unit_stride(flat: FlatNest, weight: FlatAccess, reductions: list[int]) -> SymExpr | None:
    """Return the distance of neighbours if all reductions are evenly strided, else None."""
    left = {i: weight.strides[i] for i in reductions}
    unit = next(
        (s for s in left.values() if all(_divides(s, other) for other in left.values())), None
    )
    expected = unit
    # From the smallest on, each stride is the product of the inner extents.
    while left and expected is not None:
        inner = next((i for i, stride in left.items() if stride == expected), None)
        if inner is None:
            return None
        expected = expected * flat.iters[inner].extent
        del left[inner]
    return unit


def _divides(a: SymExpr, b: SymExpr) -> bool:
    return bool((b // a) * a == b)
