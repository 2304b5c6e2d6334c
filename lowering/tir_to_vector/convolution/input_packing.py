"""Matching convolutions whose input is worth packing: padded, in the order of the windows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, vector_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    is_matrix_product,
    match_packed_contraction,
    product_tile,
)
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution, match_convolution
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.padding import (
    Padded,
    join_window,
    match_first_reduction,
    walks,
    window_nests,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatAccess,
    FlatNest,
    NotFlat,
    collapse,
    linear,
    linear_index,
    terms_of,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Index

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

    def count(self, emit: Emitter, channels: Index) -> Index:
        """Return the number of groups of a number of channels."""
        return emit.div(emit.add(channels, self.dot.group - 1), self.dot.group)


@dataclass
class PackedConvolution:
    """A convolution that reads a packed input.

    Attributes:
        conv: the convolution.
        source: the image, without padding.
        padded: the padded copy that it replaces, or None.
        axes: of the image's dimensions.
        grouped: how channels are grouped, or None.
        followers: the nests that the epilogue replaces.
    """

    conv: Convolution
    source: ir.Value
    padded: Padded | None
    axes: list[PackedAxis]
    grouped: VnniGroups | None = None
    followers: list[Nest] = field(default_factory=list)

    @property
    def element(self) -> ir.Type:
        """The type of the sum."""
        return self.conv.element

    @property
    def flat(self) -> FlatNest:
        """The convolution's nest."""
        return self.conv.flat

    @property
    def nests(self) -> list[Nest]:
        """The nests that it replaces."""
        return window_nests(self.flat, self.padded, self.followers)

    @property
    def moving(self) -> list[int]:
        """The iterators that move inside a packed input."""
        return sorted({i for axis in self.axes for i in axis.terms})

    @property
    def order(self) -> list[int]:
        """The image's dimensions in the order of a packed input."""
        last = len(self.axes) - 1
        inner = [d for d in range(last) if self.axes[d].pixel is None]
        return [*(d for d in range(last) if d not in inner), *inner, last]


def find_packed_convolution(
    tops: Sequence[ir.Operation], machine: Machine
) -> PackedConvolution | None:
    """Return the convolution that some nests begin with, or pad an image for, if packing pays."""
    padded, flat, rest = match_first_reduction(tops) or (None, None, ())
    if flat is None or (padded is not None and not padded.is_zero):
        return None
    product = match_packed_contraction(collapse(flat), machine) if padded is None else ""
    if isinstance(product, Contraction) and is_matrix_product(product, machine):
        # A GEMM by panels looks like a 1 x 1 convolution. Packing may pay only if nothing widens.
        taken = product.widen != (None, None) or _has_panels(product, machine)
        if taken:
            return None
    joined = join_window(
        flat, rest, lambda extended: _match(padded, extended, machine),
        lambda copied: walks(copied.flat, copied.conv.along),
    )  # fmt: skip
    if joined is None:
        return None
    window = replace(joined.window.conv, epilogue=joined.epilogue)
    return replace(joined.window, conv=window, followers=joined.followers)


def _has_panels(product: Contraction, machine: Machine) -> bool:
    """Whether B is packed in panels of register tiles."""
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
    order = nest.order
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
    """Return the constant of an index of the image, and the factors of iterators."""
    expr = access.exprs[d]
    if expr is not None:
        try:
            constant, factors = linear(expr)
        except NotFlat:
            return None
        return None if constant < 0 else (SymExpr.const(constant), factors)
    index = list(access.op.operands)[-len(access.exprs) :][d]
    form = linear_index(index, terms_of(access.op.block.arguments))
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
        # With windows of one tap, pixels between those of a stride are left out.
        step, reach = terms[pixel], iters[pixel].extent
        return PackedAxis({}, {pixel: 1}, pixel, step, constant, 0, None, reach)
    reach = _ONE
    for i, factor in terms.items():
        reach = reach + (iters[i].extent - 1) * factor
    size = padded.sizes[d] if padded is not None and hangs else None
    return PackedAxis({}, terms, pixel, 1, constant, before, size, reach)


def _pays(packed: PackedConvolution) -> bool:
    """Whether reading a packed input gains more than packing costs."""
    window, last = packed.conv, packed.axes[-1]
    pixels = [axis for axis in packed.axes if axis.pixel is not None]
    # Packing widens each element once.
    leaves_out = any(axis.step > 1 for axis in pixels) or window.widen[0] is not None
    # In NHWC a window's part of a row is contiguous, but pixels may conflict in cache sets.
    if _collides(packed):
        leaves_out = True
    if not leaves_out and (last.pixel != window.col or all(len(a.terms) == 1 for a in pixels)):
        return False
    channels = _ONE
    for position in (window.lane, *window.blocks):
        channels = channels * window.iter(position).extent
    return channels.value is None or channels.value >= _MIN_CHANNELS


def _collides(packed: PackedConvolution) -> bool:
    """Whether neighbouring pixels of the image conflict in L1 sets."""
    window = packed.conv
    apart, width = window.image.strides[window.col].value, max(8, window.element.width) // 8
    return bool(apart) and apart * width % SET_BYTES == 0
