"""Matching convolutions, and whether their input is worth packing.

A convolution is `C[.., c, x] += A[.., x * s + t * d] * B[c, .., t]` in any layout. A packed input
is padded, and in the order of the windows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Nest
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, vector_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    is_matrix_product,
    match_packed_contraction,
    match_product,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest, collapse
from relax_mlir.lowering.tir_to_vector.window import Padded, Window, find_window, index_terms

# Taps along an axis up to which they are unrolled.
MAX_TAPS = 8
# Output channels from which on packing an image without padding pays.
_MIN_CHANNELS = 16
# Addresses at multiples of this share a few L1 sets.
SET_BYTES = 1024
_ONE = SymExpr.const(1)
# Dimensions of a batch of sequences.
_SEQUENCE = 3


@dataclass
class PackedAxis:
    """A dimension of the image, and the part of it in a packed input.

    Attributes:
        fixed: iterators that do not move inside a packed input, each with its factor in the image.
        terms: those that do, each with its factor there.
        pixel: the one of `terms` that is an iterator of the output, or None.
        step: elements of the image from one packed element to the next.
        constant: the constant of the image's index.
        before: packed elements before the image's first.
        size: elements of the image; None if no packed element is outside of it.
        reach: packed elements.
    """

    fixed: dict[int, int]
    terms: dict[int, int]
    pixel: int | None
    step: int
    constant: SymExpr
    before: int
    size: SymExpr | None
    reach: SymExpr

    @property
    def tap(self) -> int | None:
        """The one of `terms` that is a reduction, or None."""
        return next((i for i in self.terms if i != self.pixel), None)


@dataclass(frozen=True)
class VnniGroups:
    """How a packed input has groups of channels, for a dot-product instruction.

    Attributes:
        dot: the instruction, with weights as A and the image as B.
        position: the reduction iterator over those channels.
        axis: the image's dimension that it walks, alone.
    """

    dot: DotProduct
    position: int
    axis: int


@dataclass
class PackedInput:
    """The packed input that a convolution reads.

    Attributes:
        source: the image, without padding.
        axes: of the image's dimensions.
        grouped: how channels are grouped, or None.
    """

    source: ir.Value
    axes: list[PackedAxis]
    grouped: VnniGroups | None

    @property
    def moving(self) -> list[int]:
        """The iterators that move inside it."""
        return sorted({i for axis in self.axes for i in axis.terms})

    @property
    def order(self) -> list[int]:
        """The image's dimensions in its order."""
        last = len(self.axes) - 1
        inner = [d for d in range(last) if self.axes[d].pixel is None]
        return [*(d for d in range(last) if d not in inner), *inner, last]


@dataclass(kw_only=True)
class Convolution(Window):
    """A convolution.

    Attributes:
        image, weight: the accesses.
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
        packed: the packed input, None if the image is read in place.
    """

    image: FlatAccess
    weight: FlatAccess
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
    packed: PackedInput | None = None

    @property
    def along(self) -> int:
        """The iterator along which vectors of sums are stored."""
        return self.lane if self.out.strides[self.lane] == 1 else self.col

    @property
    def grouped(self) -> VnniGroups | None:
        """How the channels of the packed input are grouped, or None."""
        return None if self.packed is None else self.packed.grouped

    @property
    def loop_order(self) -> list[int]:
        """The reductions in the order of the loops."""
        return [i for i in (*self.reductions, self.k, self.taps) if i is not None]

    def iter(self, position: int | None) -> FlatIter:
        """Return an iterator; one step for none."""
        return FlatIter(_ONE, False) if position is None else self.flat.iters[position]


def given_buffer(nest: Nest, annotation: str) -> tuple[list[int], ir.Value] | None:
    """Return the numbers that a pass has noted of packed weights, and their buffer.

    A block is declared to read that buffer, without a load of it.
    """
    notes = ir.DictAttr(nest.block.attributes.get("annotations") or ir.DictAttr.get({}))
    if annotation not in notes:
        return None
    loaded = [load.buffer for load in nest.loads]
    read = (
        view.operation.operands[0]
        for view in nest.block.regions[0].blocks[0].operations
        if view.operation.name == "tir.reads"
    )
    buffer = next((each for each in read if each not in loaded), None)
    numbers = list(ir.DenseI64ArrayAttr(notes[annotation]))
    return None if buffer is None else (numbers, buffer)


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
    for each in (sides, sides[::-1]):
        conv = _assign(flat, lanes, each, out)
        if conv is not None:
            return conv
    return "it slides no window"


def find_convolution(tops: Sequence[ir.Operation], machine: Machine) -> Convolution | None:
    """Return the convolution of an image in place that some nests begin with, with its epilogue."""

    def match(flat: FlatNest, padded: Padded | None) -> Convolution | None:
        conv = "" if padded is not None else match_convolution(collapse(flat), machine)
        return None if isinstance(conv, str) else conv

    return find_window(tops, match)


def _assign(
    flat: FlatNest, lanes: int, sides: Sequence[tuple[FlatAccess, str | None]], out: FlatAccess
) -> Convolution | None:
    (image, image_widen), (weight, weight_widen) = sides
    spatial = [i for i, it in enumerate(flat.iters) if not it.reduction]
    reductions = [i for i, it in enumerate(flat.iters) if it.reduction]

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
        flat=flat, image=image, weight=weight, widen=(image_widen, weight_widen), lane=lane,
        col=col, row=row, outer=outer, blocks=blocks, k=k, taps=taps, reductions=rest, unit=unit,
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
    narrow = [i for i in reductions if _known(flat.iters[i].extent) <= MAX_TAPS]
    taps = min(narrow, key=lambda i: _known(image.strides[i]), default=None)
    rest = [i for i in reductions if i != taps]
    # Static channels rather than a dynamic window: those are more.
    known = [i for i in rest if flat.iters[i].extent.value is not None] or rest
    return taps, max(known, key=lambda i: (_known(flat.iters[i].extent), -i), default=None)


def _known(size: SymExpr) -> int:
    """Return the magnitude of a size or stride, a large number if it is dynamic."""
    return 1 << 30 if size.value is None else abs(size.value)


def _unit_stride(flat: FlatNest, weight: FlatAccess, reductions: list[int]) -> SymExpr | None:
    """Return the distance of neighbours if all reductions are evenly strided, else None."""
    left = {i: weight.strides[i] for i in reductions}
    unit = next((s for s in left.values() if all((o // s) * s == o for o in left.values())), None)
    expected = unit
    # From the smallest on, each stride is the product of the inner extents.
    while left and expected is not None:
        inner = next((i for i, stride in left.items() if stride == expected), None)
        if inner is None:
            return None
        expected = expected * flat.iters[inner].extent
        del left[inner]
    return unit


def find_packed_convolution(tops: Sequence[ir.Operation], machine: Machine) -> Convolution | None:
    """Return the convolution that some nests begin with, or pad an image for, if packing pays."""

    def match(flat: FlatNest, padded: Padded | None) -> Convolution | None:
        if padded is not None and not padded.is_zero:
            return None
        if padded is None and _is_gemm_by_panels(flat, machine):
            return None
        return _match_packed(flat, padded, machine)

    return find_window(tops, match)


def _is_gemm_by_panels(flat: FlatNest, machine: Machine) -> bool:
    """Whether a nest is a GEMM whose B is packed in panels of register tiles, or that widens.

    It looks like a 1 x 1 convolution, whose packing may pay only if nothing widens.
    """
    product = match_packed_contraction(collapse(flat), machine)
    if not isinstance(product, Contraction) or not is_matrix_product(product, machine):
        return False
    if product.widen != (None, None):
        return True
    tile, columns = product_tile(product, machine), product.flat.iters[product.n].extent.value
    width = tile.vectors * (machine.lanes(product.element) or 1)
    whole = columns is not None and columns % width == 0
    return tile.panel is not None or (whole and not product.outer)


def _match_packed(flat: FlatNest, padded: Padded | None, machine: Machine) -> Convolution | None:
    chosen = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    squeezed = flat.walked(
        lambda x: [x.strides[i] for i in chosen], [flat.iters[i] for i in chosen]
    )
    window = match_convolution(squeezed, machine)
    if isinstance(window, str) or (padded and window.image.buffer != padded.buffer):
        return None
    buffer = window.image.buffer
    if sum(load.buffer == buffer for load in flat.nest.loads) != 1:
        return None
    axes = _axes(window, padded, chosen)
    if axes is not None and _rows_are_independent(window, axes, machine):
        outer = [i for i in range(len(window.flat.iters)) if i in (*window.outer, window.row)]
        window = replace(window, row=None, outer=outer)
        axes = _axes(window, padded, chosen)
    if axes is None:
        return None
    fixed = [i for axis in axes for i in axis.fixed]
    pixels = [axis for axis in axes if axis.pixel is not None]
    grouped = _grouped(window, axes, machine)
    if any(i not in window.outer for i in fixed) or not pixels:
        return None
    if not (padded or grouped or _pays(window, axes[-1], pixels)):
        return None
    source = buffer if padded is None else padded.source
    return replace(window, padded=padded, packed=PackedInput(source, axes, grouped))


def _rows_are_independent(conv: Convolution, axes: Sequence[PackedAxis], machine: Machine) -> bool:
    """Whether no window sees two rows, and what is packed for one row does not stay in cache.

    Dynamic sequences are assumed to be long, and rows of images short.
    """
    axis = next((axis for axis in axes if conv.row in axis.terms), None)
    if conv.row is None or axis is None or axis.size is not None or len(axis.terms) > 1:
        return False
    reach = math.prod((other.reach for other in axes if other is not axis), start=_ONE).value
    if reach is None:
        return axis is axes[0] and len(axes) == _SEQUENCE
    return reach * max(8, conv.element.width) // 8 > machine.l2_bytes * 2 // 5


def _grouped(conv: Convolution, axes: Sequence[PackedAxis], machine: Machine) -> VnniGroups | None:
    """Return the groups of channels, None if the machine has no dot product for them."""
    image, weight = conv.widen
    dot = vector_dot_product((conv.weight, conv.image), (weight, image), conv.element, machine)
    if dot is None:
        return None
    alone = {
        i: d for d, axis in enumerate(axes) for i, step in axis.terms.items()
        if len(axis.terms) == 1 and (step, axis.step) == (1, 1) and axis.size is None
        and conv.flat.iters[i].reduction
    }  # fmt: skip
    if not alone:
        return None
    position = max(alone, key=lambda i: _known(conv.flat.iters[i].extent))
    return VnniGroups(dot, position, alone[position])


def _axes(conv: Convolution, padded: Padded | None, chosen: list[int]) -> list[PackedAxis] | None:
    indices = index_terms(conv.flat, conv.image)
    if indices is None:
        return None
    axes = []
    for d, (constant, factors) in enumerate(indices):
        terms = {chosen.index(i): factor for i, factor in factors.items() if i in chosen}
        axes.append(_axis(conv, constant, terms, padded, d))
    return None if None in axes else axes


def _axis(
    conv: Convolution, constant: SymExpr, terms: dict[int, int], padded: Padded | None, d: int
) -> PackedAxis | None:
    iters = conv.flat.iters
    steps = [i for i in terms if iters[i].reduction]
    pixels = [i for i in terms if i not in steps and conv.weight.strides[i] == 0]
    others = [i for i in terms if i not in (*steps, *pixels)]
    before = 0 if padded is None else padded.before[d]
    hangs = padded is not None and bool(before or padded.after[d])
    tiled = any(i in (conv.row, conv.col) for i in pixels)
    if len(steps) > 1 or (hangs and others):
        return None
    moves = hangs or tiled or (pixels and (steps or terms[pixels[0]] != 1))
    if not moves:
        fixed = {i: terms[i] for i in (*pixels, *others)}
        step = terms[steps[0]] if steps else 1
        reach = iters[steps[0]].extent if steps else _ONE
        return PackedAxis(fixed, dict.fromkeys(steps, 1), None, step, constant, 0, None, reach)
    if len(pixels) > 1 or others:
        return None
    pixel = pixels[0] if pixels else None
    if pixel is not None and not steps and not hangs:
        # With windows of one tap, pixels between those of a stride are left out.
        step, reach = terms[pixel], iters[pixel].extent
        return PackedAxis({}, {pixel: 1}, pixel, step, constant, 0, None, reach)
    reach = sum(((iters[i].extent - 1) * factor for i, factor in terms.items()), _ONE)
    size = padded.sizes[d] if padded is not None and hangs else None
    return PackedAxis({}, terms, pixel, 1, constant, before, size, reach)


def _pays(conv: Convolution, last: PackedAxis, pixels: Sequence[PackedAxis]) -> bool:
    """Whether reading a packed input gains more than packing costs."""
    # Packing widens each element once.
    leaves_out = any(axis.step > 1 for axis in pixels) or conv.widen[0] is not None
    # In NHWC a window's part of a row is contiguous, but pixels may conflict in cache sets.
    apart, width = conv.image.strides[conv.col].value, max(8, conv.element.width) // 8
    if apart and apart * width % SET_BYTES == 0:
        leaves_out = True
    if not leaves_out and (last.pixel != conv.col or all(len(a.terms) == 1 for a in pixels)):
        return False
    channels = math.prod(
        (conv.iter(position).extent for position in (conv.lane, *conv.blocks)), start=_ONE
    )
    return channels.value is None or channels.value >= _MIN_CHANNELS
