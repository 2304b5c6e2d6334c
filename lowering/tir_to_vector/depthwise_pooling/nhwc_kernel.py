"""Depthwise convolution and pooling in NHWC: register tiles of pixels, a channel in each lane.

A pixel is loaded once for a tile. Tiles at a border have a mask for each row and each column of the
image; masked-off pixels are padding.
"""

import itertools
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.nchw_kernel import (
    global_pool,
    match_window,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.pattern import (
    NhwcDepthwisePool,
    match_nhwc,
    nhwc_tile,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.separable import (
    SeparableNhwc,
    is_nhwc_separable,
)
from relax_mlir.lowering.tir_to_vector.depthwise_pooling.writer import DepthwisePoolWriter
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import nest_work

# The extremum of integers, and the quiet NaN that is the extreme in their order.
_EXTREMA = {"arith.maximumf": ("arith.maxsi", False), "arith.minimumf": ("arith.minsi", True)}
# Bits of the mantissa of a float type.
_MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


class OrderedFloats:
    """Integers in the order of floats, with -0 before 0, and NaN last or first.

    Args:
        combiner: the extremum of floats, `arith.maximumf` or `arith.minimumf`.
        vector: the type of vectors of floats.
        emit: where to write.
    """

    combiner: str

    def __init__(self, combiner: str, vector: ir.VectorType, emit: Emitter) -> None:
        self.combiner, negative = _EXTREMA[combiner]
        self._emit, self._vector = emit, vector
        element = vector.element_type
        self._bits = element.width
        integer = ir.IntegerType.get_signless(self._bits)
        self._integers = ir.VectorType.get(vector.shape, integer)
        mantissa = _MANTISSA[str(element)]
        exponent = (1 << self._bits - 1 - mantissa) - 1
        number = (exponent << mantissa) | 1 << mantissa - 1
        self._nan = number | 1 << self._bits - 1 if negative else number

    def of(self, value: ir.Value) -> ir.Value:
        """Return a vector of floats as integers."""
        emit, integers = self._emit, self._integers
        result = emit.compare_floats("uno", value, value)
        bits = emit.op("vector.bitcast", [value], integers)
        nan = emit.constant(integers, self._nan)
        return self._flipped(emit.op("arith.select", [result, nan, bits], integers))

    def back(self, value: ir.Value) -> ir.Value:
        """Return the floats of integers."""
        return self._emit.op("vector.bitcast", [self._flipped(value)], self._vector)

    def _flipped(self, value: ir.Value) -> ir.Value:
        """Return bits with all but the sign inverted if that is set; an involution."""
        emit, integers = self._emit, self._integers
        signs = emit.op("arith.shrsi", [value, emit.constant(integers, self._bits - 1)], integers)
        inverted = emit.op(
            "arith.andi", [signs, emit.constant(integers, (1 << self._bits - 1) - 1)], integers
        )
        return emit.op("arith.xori", [value, inverted], integers)


# Taps of windows that are unrolled whole; of larger windows one row is.
_WHOLE = 9
# Maximal taps of a row that are unrolled.
_MAX_SLIDE = 8
# Channels of a group from which on a tile has half as many sums.
_SMALL_GROUP = 4
# Sums of a tile with a long epilogue.
_FEW_SUMS = 4

_BYTE = 8


@dataclass
class WindowAxis:
    """An axis of pixels as a tile sees it.

    Attributes:
        axis: the number of the image's axis.
        pixel: the output's iterator, None for one output.
        step: the reduction, None for one tap.
        stride, dilation: elements of the image from an output, or an element, to the next.
        count: outputs of a tile.
        at: the first output.
        first: the first element of the image that the tile sees; it may be before the image.
    """

    axis: int
    pixel: int | None
    step: int | None
    stride: int
    dilation: int
    count: int = 1
    at: Index = 0
    first: Index = 0

    def uses(self, steps: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
        """Return, by offset, the outputs that see an element of the image, and by which tap."""
        pool: dict[int, list[tuple[int, int]]] = {}
        for output, step in itertools.product(range(self.count), steps):
            offset = output * self.stride + step * self.dilation
            pool.setdefault(offset, []).append((output, step))
        return dict(sorted(pool.items()))


class NhwcWriter(DepthwisePoolWriter):
    """Writes the kernel: register tiles are of pixels."""

    pool: NhwcDepthwisePool

    row_stop: Index
    col_stop: Index

    def _shape(self) -> None:
        pool, machine = self.pool, self.machine
        rest = len(pool.axes) - 2
        self.right: WindowAxis = self._window_axis(rest, pool.across, pool.slide)
        # The axes before those of a tile.
        self.deep: range = range(rest if pool.fall is None else rest - 1)
        fall = -1 if pool.fall is None else rest - 1
        self.fall: WindowAxis = self._window_axis(fall, pool.row, pool.fall)
        most = max(4, machine.registers // 2)
        group = pool.size(pool.picks)
        if group > _SMALL_GROUP:
            most //= 2
        if self.finish is not None and self.finish.is_long:
            most = _FEW_SUMS
        sizes = [pool.size(pool.fall), pool.size(pool.slide)]
        self.taps: list[int | None] = [i for i in (pool.slide,) if sizes[1] <= _MAX_SLIDE]
        if self.taps and sizes[0] * sizes[1] * group <= _WHOLE:
            self.taps.append(pool.fall)
        self.looped: list[int] = [i for i in pool.reductions if i not in self.taps]
        down, right = (
            (each.stride, 1 if each.step in self.looped else pool.size(each.step), each.dilation)
            for each in (self.fall, self.right)
        )
        rows = 1 if pool.row is None else pool.flat.iters[pool.row].extent.value
        cols = pool.flat.iters[pool.across].extent.value
        self.fall.count, self.right.count = nhwc_tile(most, rows, cols, down, right)
        self.ordered: OrderedFloats | None = None
        if pool.flat.combiner in _EXTREMA and str(pool.element) in _MANTISSA:
            self.ordered = OrderedFloats(pool.flat.combiner, self.vector, self.emit)
        rank = range(len(pool.axes))
        self._dims = [self.emit.dim(pool.image.buffer, d) for d in rank]
        self.bits: ir.IntegerType = ir.IntegerType.get_signless(self.lanes)
        self.masks: ir.VectorType = ir.VectorType.get([self.lanes], self.emit.bool_type)

    def _window_axis(self, axis: int, pixel: int | None, step: int | None) -> WindowAxis:
        if axis < 0:
            return WindowAxis(axis, None, None, 1, 1)
        walk: dict[int | None, int] = dict(self.pool.axes[axis].factors)
        return WindowAxis(axis, pixel, step, walk.get(pixel, 1), walk.get(step, 1))

    def write(self) -> None:
        """Write the loops."""
        with ExitStack() as loops:
            spans, rows = loops.enter_context(self._spread(self.fall.count))
            env = {i: loops.enter_context(self.emit.each_step(*span)) for i, span in spans.items()}
            self.row_stop, self.col_stop = rows[1], self.extent(self.pool.across)
            self.fall.at = loops.enter_context(self.emit.each_step(*rows, self.fall.count))
            self._place(self.fall)
            inside = self._inside(self.fall, self.row_stop)
            cols = self.emit.each_step(0, self.col_stop, self.right.count)
            self.right.at = loops.enter_context(cols)
            self._place(self.right)
            within = self._inside(self.right, self.col_stop)
            for axis in self.deep:
                within = self.emit.all_hold((within, self._deep_inside(axis, env)))
            self._channels(env, self.emit.all_hold((inside, within)))

    def _place(self, along: WindowAxis) -> None:
        """Set the first element of the image that a tile sees."""
        if along.axis < 0:
            return
        first = along.at * along.stride + self.pool.axes[along.axis].constant
        along.first = first - self.befores[along.axis]

    def _size(self, axis: int) -> Index:
        padded = self.pool.padded
        if padded is None:
            return self._dims[axis]
        return self.emit.size(padded.sizes[axis])

    def _pads(self, axis: int) -> bool:
        padded = self.pool.padded
        return padded is not None and bool(padded.before[axis] or padded.after[axis])

    def _inside(self, along: WindowAxis, stop: Index) -> ir.Value | bool:
        """Return whether all outputs of a tile exist, and all pixels that they see."""
        emit = self.emit
        extent = self.extent(along.pixel)
        # Ranges of threads begin with whole tiles.
        whole = isinstance(extent, int) and extent % along.count == 0
        all_ = True if whole else self.emit.holds("sle", along.at + along.count, stop)
        if along.axis < 0 or not self._pads(along.axis):
            return all_
        last = (along.count - 1) * along.stride + (self.pool.size(along.step) - 1) * along.dilation
        seen = self._within(along.axis, along.first, along.first + last)
        return emit.all_hold((all_, seen))

    def _deep_inside(self, axis: int, env: dict[int, Index]) -> ir.Value | bool:
        """Return whether all that windows see along an axis before those of a tile exists."""
        if not self._pads(axis):
            return True
        first, walk = self._deep(axis, env), self.pool.axes[axis].factors
        reach = sum(walk.get(i, 0) * (self.pool.size(i) - 1) for i in self.pool.reductions)
        return self._within(axis, first, first + reach)

    def _within(self, axis: int, first: Index, last: Index) -> ir.Value | bool:
        low = self.emit.holds("sge", first, 0)
        return self.emit.all_hold((low, self.emit.holds("slt", last, self._size(axis))))

    def _deep(self, axis: int, env: dict[int, Index]) -> Index:
        """Return an index of the image along an axis before those of a tile."""
        image_axis = self.pool.axes[axis]
        steps = (env.get(i, 0) * factor for i, factor in image_axis.factors.items())
        return sum(steps, image_axis.constant - self.befores[axis])

    def _channels(self, env: dict[int, Index], inside: ir.Value | bool) -> None:
        """Write the loops over channels: whole vectors, then the tail."""
        emit, lanes = self.emit, self.lanes
        channels = self.extent(self.pool.col)
        whole = emit.round_down(channels, lanes)
        start: Index = 0
        if inside is not False:
            start = whole if inside is True else emit.select(inside, whole, 0)
            with emit.loop(0, start, lanes) as loop:
                self._tile(env, loop.counter, None)
            if inside is True and whole == channels:
                return
        with emit.loop(start, channels, lanes) as loop:
            left = channels - loop.counter
            self._tile(env, loop.counter, left)

    def _tile(self, env: dict[int, Index], channel: Index, left: Index | None) -> None:
        """Write the outputs of a tile for a vector of channels.

        Args:
            env: counters of the outer iterators.
            channel: the first.
            left: channels from it on; None for a tile with all lanes and pixels.
        """
        emit, pool = self.emit, self.pool
        env = {**env, pool.col: channel}
        live = None if left is None else self._live(left)
        outputs = list(itertools.product(range(self.fall.count), range(self.right.count)))
        stores = {at: self._store_mask(at, live) for at in outputs}
        if pool.flat.init is not None:
            values = [self.splat(pool.flat.init)] * len(outputs)
        else:
            values = []
            for at in outputs:
                place = self.out.at(self._output(env, at, live is not None)).offset
                values.append(emit.vector_load(self.out.base, [place], self.vector, stores[at]))
        if self.ordered is not None:
            values = [self.ordered.of(value) for value in values]
        values = self._reduce(self.looped, env, live, values)
        if self.ordered is not None:
            values = [self.ordered.back(value) for value in values]
        for at, value in zip(outputs, values, strict=True):
            self.put(value, self._output(env, at, live is not None), stores[at])

    def _output(self, env: dict[int, Index], at: tuple[int, int], masked: bool) -> dict[int, Index]:
        """Return the counters of an output of a tile; outputs past the last one repeat it."""
        there, stops = dict(env), (self.row_stop, self.col_stop)
        for along, number, stop in zip((self.fall, self.right), at, stops, strict=True):
            if along.pixel is not None:
                place = along.at + number
                if number and masked:
                    place = self.emit.min(place, stop - 1)
                there[along.pixel] = place
        return there

    def _store_mask(self, at: tuple[int, int], live: ir.Value | None) -> ir.Value | None:
        if live is None:
            return None
        row = self.emit.holds("slt", self.fall.at + at[0], self.row_stop)
        col = self.emit.holds("slt", self.right.at + at[1], self.col_stop)
        return self._masked(live, [row, col])

    def _live(self, left: Index) -> ir.Value:
        """Return the lanes that exist: as bits for mask registers, or as a number."""
        emit = self.emit
        if self.lanes < _BYTE:
            return emit.index(left)
        mask = emit.mask(left, self.lanes)
        bits = emit.op("vector.bitcast", [mask], ir.VectorType.get([1], self.bits))
        return emit.extract(bits, 0)

    def _masked(self, live: ir.Value, conditions: Sequence[ir.Value | bool]) -> ir.Value:
        """Return a mask of the lanes that exist, empty if a condition is false."""
        emit = self.emit
        for condition in conditions:
            if condition is False:
                return emit.mask(0, self.lanes)
            if condition is True:
                continue
            if self.lanes < _BYTE:
                live = emit.select(condition, live, 0)
            else:
                all_ = emit.op("arith.extsi", [condition], self.bits)
                live = emit.op("arith.andi", [live, all_], self.bits)
        if self.lanes < _BYTE:
            return emit.mask(live, self.lanes)
        one = emit.splat(live, ir.VectorType.get([1], self.bits))
        return emit.op("vector.bitcast", [one], self.masks)

    def _reduce(
        self, loops: Sequence[int], env: dict[int, Index], live: ir.Value | None,
        sums: list[ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        if not loops:
            return self._step(env, live, sums)
        position, *rest = loops
        with self.emit.loop(0, self.extent(position), 1, sums, KEEP) as loop:
            inner = {**env, position: loop.counter}
            loop.carry(self._reduce(rest, inner, live, loop.carried))
        return loop.results

    def _step(
        self, env: dict[int, Index], live: ir.Value | None, sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Write the unrolled part of a window."""
        pool, sums = self.pool, list(sums)
        falls = range(pool.size(pool.fall)) if pool.fall in self.taps else (0,)
        slides = range(pool.size(pool.slide)) if pool.slide in self.taps else (0,)
        masked = live is not None
        lanes = None if live is None else self._masked(live, [])
        base, deep = self._corner(env)
        falling = self._lines(self.fall, env, falls, masked)
        sliding = self._lines(self.right, env, slides, masked)
        seen: dict[tuple[int, int], ir.Value] = {}
        fenced = self.weight is not None and self.machine.isa.tables and len(self.taps) > 1
        for pick in range(pool.size(pool.picks)):
            there = env if pool.picks is None else {**env, pool.picks: pick}
            elements = {
                at: None if self.weight is None else self._weights(there, at, lanes)
                for at in itertools.product(falls, slides)
            }
            for (y, (line, below, rows)), (x, (pixel, inside, cols)) in itertools.product(
                enumerate(falling), enumerate(sliding)
            ):
                if not pick:
                    mask = None if live is None else self._masked(live, [*deep, below, inside])
                    place = base + line + pixel
                    other = None if mask is None else self._fill_value()
                    seen[y, x] = self.load(place, mask, other)
                value = self._picked(seen[y, x], pick)
                for (r, i), (c, j) in itertools.product(rows, cols):
                    number = r * self.right.count + c
                    sums[number] = self.combined(sums[number], value, elements[i, j])
                if fenced and x == len(sliding) - 1:
                    # LLVM would hoist the loads of all rows, and spill.
                    sums = self.emit.register_barrier(sums)
        return sums

    def _picked(self, value: ir.Value, pick: int) -> ir.Value:
        """Return what is multiplied: each channel, or for each group one of its channels."""
        if self.ordered is not None:
            return self.ordered.of(value)
        size = self.pool.size(self.pool.picks)
        if size == 1:
            return value
        order = [lane // size * size + pick for lane in range(self.lanes)]
        return self.emit.shuffle(value, value, order)

    def combined(self, total: ir.Value, pixel: ir.Value, element: ir.Value | None) -> ir.Value:
        """Add pixels times a weight, or combine them for pooling."""
        if self.ordered is None:
            return super().combined(total, pixel, element)
        return self.emit.op(self.ordered.combiner, [total, pixel], total.type)

    def _weights(
        self, env: dict[int, Index], at: tuple[int, int], mask: ir.Value | None
    ) -> ir.Value:
        assert self.weight is not None  # pooling has none
        there = dict(env)
        for position, step in zip((self.pool.fall, self.pool.slide), at, strict=True):
            if position in self.taps and position is not None:
                there[position] = step
        return self.weights.vectors(self.weight.at(there).offset, mask)

    def _corner(self, env: dict[int, Index]) -> tuple[Index, list[ir.Value | bool]]:
        """Return the place along the axes before a tile's, and whether it is in the image."""
        emit = self.emit
        place, deep = env[self.pool.col], list[ir.Value | bool]()
        for axis in self.deep:
            index = self._deep(axis, env)
            if self._pads(axis):
                deep.append(self._within(axis, index, index))
                index = emit.max(emit.min(index, self._size(axis) - 1), 0)
            place += index * self.source_strides[axis]
        return place, deep

    def _lines(
        self, along: WindowAxis, env: dict[int, Index], steps: Sequence[int], masked: bool
    ) -> list[tuple[Index, ir.Value | bool, list[tuple[int, int]]]]:
        """Return the lines that a tile sees along an axis: place, existence, and uses."""
        emit = self.emit
        if along.axis < 0:
            return [(0, True, [(0, 0)])]
        first = along.first
        if along.step in self.looped and along.step is not None:
            first += env[along.step] * along.dilation
        stride, lines = self.source_strides[along.axis], []
        for offset, uses in along.uses(steps).items():
            index = first + offset
            live = self._within(along.axis, index, index)
            if not self._pads(along.axis):
                # Outputs past the last one may see pixels that do not exist.
                live = self.emit.holds("slt", index, self._size(along.axis))
            if masked and live is not True:
                # A masked load of an unmapped page is slow even if no lane is on.
                index = emit.max(emit.min(index, self._size(along.axis) - 1), 0)
            lines.append((index * stride, live, uses))
        return lines


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    pool: NhwcDepthwisePool = problem.form
    separable = is_nhwc_separable(pool)
    writer = SeparableNhwc if separable else NhwcWriter
    kernel = Candidate(
        "separable" if separable else "vectors of channels",
        lambda emit, machine: writer(pool, emit).write(),
        lambda size: nest_work(pool.flat, machine, size),
    )
    return [*global_pool(pool, machine), kernel]


NHWC_WINDOW = KernelClass(
    "depthwise convolution or pooling, NHWC",
    lambda nests: match_window(nests, match_nhwc),
    _candidates,
    one_nest=False,
)
