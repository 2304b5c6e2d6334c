"""Padding tap elimination: leaving out taps that meet only padding.

Zero times a finite number adds nothing. Weights are tested first; if one is not finite, no tap is
left out.
"""

from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader
from relax_mlir.lowering.tir_to_vector.convolution.input_packing import (
    PackedAxis,
    PackedConvolution,
)
from relax_mlir.lowering.tir_to_vector.convolution.tiles import TileSizes
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# The share of FMAs along an axis that pays for loops of dynamic length, and FMAs of each weight
# that pay for testing it.
_MIN_SHARE, _MIN_USES = 0.06, 8
# The dilation from which on windows of dynamic images meet much padding.
_FAR = 4
# Vectors of weights that are tested at a time.
_AT_ONCE = 4
# The minimal width of a tile: narrower ones cost more than they leave out.
_MIN_COLS = 8


def padding_tap_tiles(sizes: TileSizes, copied: PackedConvolution) -> TileSizes:
    """Return tiles whose dynamic rows are no wider than taps are apart.

    Tiles at a border then meet only padding with some taps.
    """
    conv = copied.conv
    for axis in copied.axes:
        steps = [i for i in axis.terms if i != axis.pixel]
        if axis.pixel != conv.col or axis.size is None or not steps:
            continue
        apart = axis.terms[steps[0]]
        unknown = conv.flat.iters[conv.col].extent.value is None
        if unknown and _MIN_COLS <= apart < sizes.cols[0]:
            return replace(sizes, cols=(apart, *(c for c in sizes.cols[1:] if c < apart)))
    return sizes


@dataclass(frozen=True)
class _TapAxis:
    """An axis along which taps may be left out.

    Attributes:
        step: the reduction.
        pixel: the output's iterator.
        axis: where they index the image.
        count: the maximal outputs of a tile.
    """

    step: int
    pixel: int
    axis: PackedAxis
    count: int


class PaddingTaps:
    """The taps that each tile leaves out: `prepare` once, before the parallel region, then `spans`.

    Args:
        copied: the convolution.
        counts: the maximal steps of each iterator of pixels of a tile.
        emit: where to write.
        machine: what for.
    """

    def __init__(
        self,
        copied: PackedConvolution,
        counts: dict[int | None, int],
        emit: Emitter,
        machine: Machine,
    ) -> None:
        self._copied, self._emit, self._machine = copied, emit, machine
        self._finite: bool | ir.Value | None = None
        self._skips: list[_TapAxis] = []
        dot = None if copied.grouped is None else copied.grouped.dot
        if copied.conv.flat.init is None or (dot is not None and dot.flips_signs):
            return
        for axis in copied.axes:
            steps = [i for i in axis.terms if i != axis.pixel]
            if axis.size is None or axis.pixel is None or not steps or axis.constant != 0:
                continue
            skip = _TapAxis(steps[0], axis.pixel, axis, counts.get(axis.pixel, 1))
            if self._pays(skip):
                self._skips.append(skip)

    @property
    def steps(self) -> list[int]:
        """The reductions along which tiles leave out taps."""
        return [skip.step for skip in self._skips]

    def _pays(self, skip: _TapAxis) -> bool:
        iters, terms = self._copied.conv.flat.iters, skip.axis.terms
        elements, apart = iters[skip.step].extent.value, terms[skip.step]
        outputs, size = iters[skip.pixel].extent.value, skip.axis.size
        if elements is None or size is None or not apart or not terms[skip.pixel]:
            return False
        if outputs is None or size.value is None:
            return apart >= _FAR and elements > 1
        stride, before, image = terms[skip.pixel], skip.axis.before, size.value
        used = all_ = 0
        for first in range(0, outputs, skip.count):
            last = min(first + skip.count, outputs) - 1
            all_ += elements
            used += sum(
                last * stride + e * apart >= before and first * stride + e * apart < before + image
                for e in range(elements)
            )
        saved, pixels = all_ - used, 1
        for axis in self._copied.axes:
            if axis.pixel is not None:
                pixels *= iters[axis.pixel].extent.value or outputs
        return saved >= _MIN_SHARE * all_ and saved * pixels >= _MIN_USES * all_ > 0

    def prepare(self) -> None:
        """Test the weights, if anything may be left out."""
        conv, emit = self._copied.conv, self._emit
        if not self._skips or not isinstance(conv.element, ir.FloatType):
            return
        buffer = conv.weight.buffer
        lanes = self._machine.lanes(conv.element) or 1
        vector = ir.VectorType.get([lanes], conv.element)
        load = Loader(emit, emit.flatten_once(buffer), conv.widen[1], vector)
        size: Index = 1
        for d in range(buffer.type.rank):
            size = emit.mul(size, emit.dim(buffer, d))
        zero = emit.constant(vector, 0)

        def after(total: ir.Value, at: Index, mask: ir.Value | None) -> ir.Value:
            # Zero times a number that is not finite is NaN.
            nothing = emit.op("arith.mulf", [load.vectors(at, mask), zero], vector)
            return emit.op("arith.addf", [total, nothing], vector)

        many = _AT_ONCE * lanes
        whole = emit.round_down(size, many)
        with emit.loop(0, whole, many, [zero] * _AT_ONCE) as loop:
            loop.carry(
                [
                    after(total, emit.add(loop.counter, number * lanes), None)
                    for number, total in enumerate(loop.carried)
                ]
            )
        total, *others = loop.results
        for other in others:
            total = emit.op("arith.addf", [total, other], vector)
        with emit.loop(whole, size, lanes, [total]) as loop:
            mask = emit.mask(emit.sub(size, loop.counter), lanes)
            loop.carry([after(loop.carried[0], loop.counter, mask)])
        (total,) = loop.results
        wrong = emit.unordered(total, total)
        kind = ir.Attribute.parse("#vector.kind<or>")
        any_ = emit.op("vector.reduction", [wrong], emit.bool_type, kind=kind)
        self._finite = emit.negated(any_)

    def spans(
        self, here: dict[int, Index], counts: dict[int | None, int]
    ) -> dict[int, tuple[Index, Index]]:
        """Return for each reduction of `steps` the range of taps of a tile.

        Args:
            here: counters at the tile's first output.
            counts: the steps of each iterator of pixels of the tile.
        """
        emit, spans = self._emit, dict[int, tuple[Index, Index]]()
        for skip in self._skips:
            axis, count = skip.axis, counts.get(skip.pixel, 1)
            stride, apart = axis.terms[skip.pixel], axis.terms[skip.step]
            assert axis.size is not None  # of others nothing is left out
            elements = emit.size(self._copied.conv.flat.iters[skip.step].extent)
            first = emit.mul(here[skip.pixel], stride)
            last = emit.add(first, (count - 1) * stride)
            image_end = emit.add(emit.size(axis.size), axis.before)
            low = self._up(emit.sub(axis.before, last), apart, elements)
            high = self._up(emit.sub(image_end, first), apart, elements)
            if self._finite is not None:
                low = emit.select(self._finite, low, 0)
                high = emit.select(self._finite, high, elements)
            spans[skip.step] = low, high
        return spans

    def _up(self, distance: Index, apart: int, most: Index) -> Index:
        """Return the first tap at least that far away."""
        emit = self._emit
        number = emit.div(emit.add(emit.max(distance, 0), apart - 1), apart)
        return emit.min(number, most)
