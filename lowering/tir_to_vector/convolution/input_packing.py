"""Recognising convolutions that pay for a copy of their image, padded and in the windows' order."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, vector_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.matrix_product import (
    is_matrix_product,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.contraction.packed_operands import match_packed_contraction
from relax_mlir.lowering.tir_to_vector.contraction.pattern import Contraction
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution, match_convolution
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.epilogue import (
    join_window,
    walks,
    window_nests,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import (
    Padded,
    match_first_reduction,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    NotFlat,
    collapse,
    linear,
    linear_index,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# With fewer output channels a copy of an image that needs no padding costs more than it gains.
_MIN_CHANNELS = 16
# Addresses so far apart are in a few of the first-level cache's sets.
SET_BYTES = 1024
_ONE = SymExpr.const(1)
# Dimensions of a batch of sequences.
_SEQUENCE = 3


@dataclass
class PackedAxis:
    """A dimension of the image, and what of it is in a copy.

    Attributes:
        fixed: iterators that stay while a copy is used, each with its factor in the image.
        terms: those that move inside the copy, each with its factor there.
        pixel: the one of `terms` that is an iterator of the output, None for none.
        step: elements of the image from one of the copy to the next.
        constant: what is added to the image's index.
        before: elements of the copy that are before the image's first.
        size: elements of the image, None where the copy has nothing that is outside of it.
        reach: elements of the copy.
    """

    fixed: dict[int, int]
    terms: dict[int, int]
    pixel: int | None
    step: int
    constant: SymExpr
    before: int
    size: SymExpr | None
    reach: SymExpr


@dataclass(frozen=True)
class VnniGroups:
    """How a copy has a few input channels in each of its elements, which are multiplied at once.

    Attributes:
        dot: what multiplies them: kernels are its A, the image is its B.
        position: the reduction iterator over those channels.
        axis: the image's dimension that it walks, alone.
    """

    dot: DotProduct
    position: int
    axis: int

    def count(self, emit: Emitter, channels: Index) -> Index:
        """Return in how many groups so many channels are."""
        return emit.div(emit.add(channels, self.dot.group - 1), self.dot.group)


@dataclass
class PackedConvolution:
    """A convolution that reads a copy of its image.

    Attributes:
        conv: the convolution.
        source: the image, without padding.
        padded: the padded copy that it stands for, None where there is none.
        axes: of the image's dimensions.
        grouped: how the copy groups channels, None for not.
        followers: the nests that the convolution's epilogue stands for.
    """

    conv: Convolution
    source: ir.Value
    padded: Padded | None
    axes: list[PackedAxis]
    grouped: VnniGroups | None = None
    followers: list[Nest] = field(default_factory=list)

    @property
    def flat(self) -> FlatNest:
        """The convolution's nest."""
        return self.conv.flat

    @property
    def nests(self) -> list[Nest]:
        """What it stands for."""
        return window_nests(self.flat, self.padded, self.followers)

    @property
    def moving(self) -> list[int]:
        """The iterators that move inside a copy."""
        return sorted({i for axis in self.axes for i in axis.terms})

    @property
    def order(self) -> list[int]:
        """The image's dimensions as they lie in the copy: what windows slide along first."""
        last = len(self.axes) - 1
        inner = [d for d in range(last) if self.axes[d].pixel is None]
        return [*(d for d in range(last) if d not in inner), *inner, last]


def find_packed_convolution(
    tops: Sequence[ir.Operation], machine: Machine
) -> PackedConvolution | None:
    """Return the convolution that the first of some nests is, or makes a padded image for."""
    padded, flat = match_first_reduction(tops)
    if flat is None or (padded is not None and not padded.is_zero):
        return None
    product = match_packed_contraction(collapse(flat), machine) if padded is None else ""
    if isinstance(product, Contraction) and is_matrix_product(product, machine):
        # Rows by columns of a matrix look like pixels by blocks of channels. Only numbers that do
        # not widen may still be better off with a copy.
        taken = product.widen != (None, None) or _has_panels(product, machine)
        if taken:
            return None

    def match(extended: FlatNest) -> PackedConvolution | None:
        return _match(padded, extended, machine)

    def fits(copied: PackedConvolution) -> bool:
        return walks(copied.flat, copied.conv.along)

    packed = match(flat)
    if packed is None:
        return None
    joined = join_window(flat, tops[1 if padded is None else 3 :], match, fits)
    if joined is None:
        return packed
    window = replace(joined.window.conv, epilogue=joined.epilogue)
    return replace(joined.window, conv=window, followers=joined.followers)


def _has_panels(product: Contraction, machine: Machine) -> bool:
    """Whether B consists of panels of register tiles, one or several."""
    tile, columns = product_tile(product, machine), product.flat.iters[product.n].extent.value
    width = tile.vectors * (machine.lanes(product.element) or 1)
    whole = columns is not None and columns % width == 0
    return tile.panel is not None or (whole and not product.outer)


def _match(padded: Padded | None, flat: FlatNest, machine: Machine) -> PackedConvolution | None:
    chosen = [i for i, it in enumerate(flat.iters) if it.extent != 1]
    window = match_convolution(_squeezed(flat, chosen), machine)
    if isinstance(window, str) or (padded and window.image.buffer != padded.buffer):
        return None
    buffer = window.image.buffer
    loads = [load for load in flat.nest.loads if load.buffer == buffer]
    if len(loads) != 1:
        return None
    axes = _axes(window, loads[0], padded, chosen)
    if axes is not None and _rows_are_independent(window, axes, machine):
        outer = [i for i in range(len(window.flat.iters)) if i in (*window.outer, window.row)]
        window = replace(window, row=None, outer=outer)
        axes = _axes(window, loads[0], padded, chosen)
    if axes is None:
        return None
    source = buffer if padded is None else padded.source
    packed = PackedConvolution(window, source, padded, axes, _grouped(window, axes, machine))
    fixed = [i for axis in axes for i in axis.fixed]
    if any(i not in window.outer for i in fixed) or not any(
        axis.pixel is not None for axis in axes
    ):
        return None
    return packed if padded or packed.grouped or _pays(packed) else None


def _rows_are_independent(conv: Convolution, axes: Sequence[PackedAxis], machine: Machine) -> bool:
    """Whether no window sees two rows, and what is copied for one does not stay in the cache.

    Of sizes that are not known sequences are taken for long ones; rows of images are not.
    """
    axis = next((axis for axis in axes if conv.row in axis.terms), None)
    if conv.row is None or axis is None or axis.size is not None or len(axis.terms) > 1:
        return False
    reach = math.prod((other.reach for other in axes if other is not axis), start=_ONE).value
    if reach is None:
        return axis is axes[0] and len(axes) == _SEQUENCE
    return reach * max(8, conv.element.width) // 8 > machine.l2_bytes * 2 // 5


def _grouped(conv: Convolution, axes: Sequence[PackedAxis], machine: Machine) -> VnniGroups | None:
    """Return how channels are multiplied in groups, None where the machine does not do that."""
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

    def size(i: int) -> int:
        extent = conv.flat.iters[i].extent.value
        return 1 << 30 if extent is None else extent

    position = max(alone, key=size)
    return VnniGroups(dot, position, alone[position])


def _squeezed(flat: FlatNest, chosen: list[int]) -> FlatNest:
    accesses = {
        op: FlatAccess(access.buffer, access.offset, [access.strides[i] for i in chosen])
        for op, access in flat.accesses.items()
    }
    return replace(flat, iters=[flat.iters[i] for i in chosen], accesses=accesses)


def _axes(
    conv: Convolution, access: Access, padded: Padded | None, chosen: list[int]
) -> list[PackedAxis] | None:
    nest = conv.flat.nest
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    axes = []
    for d in range(len(access.exprs)):
        index = _index(access, d)
        if index is None:
            return None
        constant, factors = index
        terms = {order.index(i): factor for i, factor in factors.items() if factor}
        terms = {chosen.index(i): factor for i, factor in terms.items() if i in chosen}
        if any(factor < 0 for factor in terms.values()):
            return None
        axis = _axis(conv, constant, terms, padded, d)
        if axis is None:
            return None
        axes.append(axis)
    return axes


def _index(access: Access, d: int) -> tuple[SymExpr, dict[int, int]] | None:
    """Return what is added to an index of the image, and the factors of the iterators."""
    expr = access.exprs[d]
    if expr is not None:
        try:
            constant, factors = linear(expr)
        except NotFlat:
            return None
        return None if constant < 0 else (SymExpr.const(constant), factors)
    index = list(access.op.operands)[-len(access.exprs) :][d]
    form = linear_index(index, list(access.op.block.arguments))
    if form is None:
        return None
    known = {i: factor.value for i, factor in form[1].items()}
    numbers = {i: factor for i, factor in known.items() if factor is not None}
    return (form[0], numbers) if len(numbers) == len(known) else None


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
        # Pixels between those that windows of one element see are left out.
        step, reach = terms[pixel], iters[pixel].extent
        return PackedAxis({}, {pixel: 1}, pixel, step, constant, 0, None, reach)
    reach = _ONE
    for i, factor in terms.items():
        reach = reach + (iters[i].extent - 1) * factor
    size = padded.sizes[d] if padded is not None and hangs else None
    return PackedAxis({}, terms, pixel, 1, constant, before, size, reach)


def _pays(packed: PackedConvolution) -> bool:
    """Whether reading a copy instead of the image gains more than it costs."""
    window, last = packed.conv, packed.axes[-1]
    pixels = [axis for axis in packed.axes if axis.pixel is not None]
    # An element that is widened is so once.
    leaves_out = any(axis.step > 1 for axis in pixels) or window.widen[0] is not None
    # With channels last all that a window sees of a row is close together in the image; but pixels
    # may be so far apart that few of them stay in the cache.
    if _collides(packed):
        leaves_out = True
    if not leaves_out and (last.pixel != window.col or all(len(a.terms) == 1 for a in pixels)):
        return False
    channels = _ONE
    for position in (window.lane, *window.blocks):
        channels = channels * window.iter(position).extent
    return channels.value is None or channels.value >= _MIN_CHANNELS


def _collides(packed: PackedConvolution) -> bool:
    """Whether neighbouring pixels of the image are in the same few sets of the cache."""
    window = packed.conv
    apart, width = window.image.strides[window.col].value, max(8, window.element.width) // 8
    return bool(apart) and apart * width % SET_BYTES == 0
