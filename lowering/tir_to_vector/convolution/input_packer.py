"""Writing the packed input of a convolution: bands of rows, with their padding."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import flipped_zeros, groups_type
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader, VnniLoader
from relax_mlir.lowering.tir_to_vector.convolution.pattern import SET_BYTES, Convolution, PackedAxis
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef
from relax_mlir.lowering.tir_to_vector.flat import row_major_strides
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.shuffles import MAX_STEP, every_nth

# Vectors of a static row up to which there is no loop.
_UNROLLED = 8


class InputPacker:
    """The packed input of a convolution: `allocate` once, then `bands`.

    Tiles use it like the image, by `base`, `at` and `stride`.

    Args:
        conv: the convolution.
        emit: where to write.
        units: for iterators how many steps go together, if not one.
        beyond: pixels after the last of a row that may be read.
    """

    def __init__(
        self, conv: Convolution, emit: Emitter, units: dict[int | None, int], beyond: int
    ) -> None:
        packed = conv.packed
        assert packed is not None  # images that are read in place have no packer
        self._beyond = beyond
        self._conv, self._emit = conv, emit
        self._lanes = emit.machine.lanes(conv.element) or 1
        self._vector = self._type()
        self._axes, self._order = packed.axes, packed.order
        self._reach = [emit.max(self._length(d), 1) for d in range(len(self._axes))]
        self._source_strides = [*map(emit.size, row_major_strides(packed.source))]
        self._source = emit.flatten_once(packed.source)
        self._load = self._loader()
        self._base: ir.Value | None = None
        # Bands are ranges of the outermost dimension that windows slide along.
        self._long = next(d for d in self._order if self._axes[d].pixel is not None)
        self._unit = units.get(self.band, 1)
        self._band = self._band_size()
        self._strides: dict[int, Index] = {}
        self._size: Index = 1
        for d in reversed(self._order):
            self._size += self._gap(d)
            self._strides[d] = self._size
            count = self._rows(self._band) if d == self._long else self._reach[d]
            self._size *= count
        self._start: Index = 0
        self._part: Span = (0, 0)

    def _type(self) -> ir.VectorType:
        """Return the type of a packed vector."""
        return ir.VectorType.get([self._lanes], self._conv.element)

    def _length(self, d: int) -> Index:
        """Return the length of a dimension of the packed input."""
        return self._emit.size(self._axes[d].reach)

    def _loader(self) -> Loader:
        """Return the loader of the image's elements."""
        return Loader(self._emit, self._source, self._conv.widen[0], self._vector)

    def _nothing(self) -> ir.Value:
        """Return a vector of padding."""
        return self._emit.constant(self._vector, 0)

    def _gap(self, d: int) -> int:
        """Return the gap between pixels of a row, in elements.

        Without it, the pixels of a tile would have L1 set conflicts.
        """
        step = self._axes[d].terms.get(self._conv.col, 0)
        bits = max(8, self._vector.element_type.width)
        if d == self._order[-1] or not step or not isinstance(self._size, int):
            return 0
        conflicts = self._size * step * bits // 8 % SET_BYTES == 0
        return self._emit.isa.line(bits) if conflicts else 0

    @property
    def base(self) -> ir.Value:
        """The buffer."""
        assert self._base is not None  # allocated before tiles are written
        return self._base

    @property
    def band(self) -> int:
        """The iterator of the output that bands are ranges of."""
        pixel = self._axes[self._long].pixel
        return pixel

    def stride(self, position: int | None) -> Index:
        """Return the stride of an iterator in the packed input."""
        axes = enumerate(self._axes)
        return sum(axis.terms.get(position, 0) * self._strides[d] for d, axis in axes)

    def at(self, env: dict[int, Index]) -> StridedRef:
        """Return the element at given counters, of pixels in the present band."""
        offset = 0
        for position, value in env.items():
            if position == self.band:
                value -= self._start
            offset += value * self.stride(position)
        return StridedRef(self.base, offset, {})

    def _extent(self, position: int) -> Index:
        return self._emit.size(self._conv.flat.iters[position].extent)

    def _rows(self, pixels: Index) -> Index:
        """Return how many elements of the band's dimension some pixels see."""
        factor = self._axes[self._long].terms[self.band]
        less = (self._extent(self.band) - pixels) * factor
        return self._reach[self._long] - less

    def _band_size(self) -> Index:
        """Return the pixels of a band: it stays in L2 beside some weights."""
        emit, unit = self._emit, self._unit
        bytes_ = max(8, self._vector.element_type.width) // 8
        most = emit.machine.l2_bytes * 2 // 5 // bytes_
        slab: Index = math.prod(reach for d, reach in enumerate(self._reach) if d != self._long)
        factor = self._axes[self._long].terms[self.band]
        extent, window = self._extent(self.band), self._rows(1)
        if isinstance(slab, int) and isinstance(extent, int) and isinstance(window, int):
            fit = max(unit, ((most // slab - window) // factor + 1) // unit * unit)
            if fit >= extent:
                return extent
            share = -(-extent // -(-extent // fit))
            return -(-share // unit) * unit
        room = emit.max(most // slab - window, 0)
        fit = emit.max(emit.round_down(room // factor + 1, unit), unit)
        return emit.min(fit, emit.max(extent, 1))

    def allocate(self) -> None:
        """Allocate a band; rows end with whole vectors."""
        emit = self._emit
        with emit.outside():
            beyond = self.stride(self._conv.col) * self._beyond
            size = self._size + (beyond + 2 * self._lanes)
        self._base = emit.alloc(size, self._vector.element_type)

    @contextmanager
    def bands(self, env: dict[int, Index], span: Span) -> Iterator[Span]:
        """Loop over bands of a range of pixels, pack what they see, and yield their ranges.

        Args:
            env: counters of the iterators that do not move inside a packed input.
            span: the range of the band's iterator.
        """
        emit = self._emit
        if isinstance(self._band, int) and self._band == self._extent(self.band):
            self._fill(env, span)
            yield span
            return
        with emit.loop(*span, self._band) as loop:
            part = loop.counter, emit.min(loop.counter + self._band, span[1])
            self._fill(env, part)
            yield part

    def _fill(self, env: dict[int, Index], span: Span) -> None:
        emit = self._emit
        self._start = span[0]
        factor = self._axes[self._long].terms[self.band]
        rows = self._rows(emit.max(span[1] - span[0], 0))
        self._part = span[0] * factor, rows
        place: Index = 0
        for d, axis in enumerate(self._axes):
            first = emit.size(axis.constant) - axis.before
            index = sum((env[i] * factor for i, factor in axis.fixed.items()), first)
            place += index * self._source_strides[d]
        self._level(0, place, 0)

    def _level(self, level: int, place: Index, to: Index) -> None:
        """Pack a dimension, in the order of the packed input.

        Args:
            level: its number in that order.
            place: its first element in the image.
            to: its first packed element.
        """
        d = self._order[level]
        axis, stride = self._axes[d], self._strides[d]
        first, count = self._part if d == self._long else (0, self._reach[d])
        low, high = self._inside(axis, first, count)
        end = to + count * stride
        start = to + low * stride
        if axis.size is not None:
            self._zeros(to, start)
        if level + 1 < len(self._order) and not self._joins(level):
            with self._emit.each_step(low, high) as x:
                index = (x + first) * axis.step
                there = place + index * self._source_strides[d]
                self._level(level + 1, there, to + x * stride)
            done = to + high * stride
        else:
            length = (high - low) * stride
            index = (low + first) * axis.step
            there = place + index * self._source_strides[d]
            self._row(there, start, length, axis.step)
            vectors = ceil_div(length, self._lanes)
            done = start + vectors * self._lanes
        if axis.size is not None:
            self._zeros(done, end)

    def _joins(self, level: int) -> bool:
        """Whether a dimension and all of the last one are contiguous in the image."""
        if level + 2 != len(self._order):
            return False
        d, last = self._order[level:]
        axis, inner = self._axes[d], self._axes[last]
        whole = inner.size is None and inner.step == 1 and inner.constant == 0 and not inner.fixed
        fills = last != self._long and self._reach[last] == self._source_strides[last - 1]
        fills = fills and self._reach[last] == self._strides[d]
        return whole and fills and d == last - 1 and axis.step == 1

    def _inside(self, axis: PackedAxis, first: Index, count: Index) -> Span:
        """Return which of a range of a dimension's elements are inside the image."""
        emit = self._emit
        if axis.size is None:
            return 0, count
        start = axis.before - emit.size(axis.constant) - first
        low = emit.min(emit.max(start, 0), count)
        high = emit.min(emit.max(start + emit.size(axis.size), low), count)
        return low, high

    def _zeros(self, start: Index, stop: Index) -> None:
        """Write zeros from a place on, at least up to another."""
        emit = self._emit
        zero = self._nothing()
        length = stop - start
        if isinstance(length, int):
            if length <= 0:
                return
            if length <= self._lanes * _UNROLLED:
                for at in range(0, length, self._lanes):
                    emit.vector_store(zero, self.base, [start + at])
                return
        with emit.loop(start, stop, self._lanes) as at:
            emit.vector_store(zero, self.base, [at.counter])

    def _row(self, place: Index, to: Index, count: Index, step: int) -> None:
        """Copy elements of the image, followed by zeros up to whole vectors."""
        emit, lanes = self._emit, self._lanes
        if step > MAX_STEP:
            with emit.loop(0, count) as at:
                value = self._one(place + at.counter * step)
                emit.store(value, self.base, [to + at.counter])
            return
        if isinstance(count, int) and count <= lanes * _UNROLLED:
            for at in range(0, count, lanes):
                self._vectors(place, to, at, count - at, step)
            return
        # The last elements have masks; with steps, vectors before them would reach further.
        whole = emit.round_down(emit.max(count - 1, 0) if step > 1 else count, lanes)
        with emit.loop(0, whole, lanes) as at:
            self._vectors(place, to, at.counter, lanes + (step > 1), step)
        left = count - whole
        if left != 0:
            self._vectors(place, to, whole, left, step)

    def _vectors(self, place: Index, to: Index, at: Index, left: Index, step: int) -> None:
        emit = self._emit
        value = self._vector_of(place + at * step, left, step)
        emit.vector_store(value, self.base, [to + at])

    def _one(self, place: Index) -> ir.Value:
        """Return a packed element."""
        return self._load.one(place)

    def _vector_of(self, from_: Index, left: Index, step: int) -> ir.Value:
        """Return a packed vector, of elements of the image with a step."""
        emit, lanes = self._emit, self._lanes
        reach = (left - 1) * step + 1
        parts = []
        for number in range(step):
            there = reach - number * lanes
            mask = None
            if not isinstance(there, int) or there < lanes:
                mask = emit.mask(there, lanes)
            parts.append(self._load.vectors(from_ + number * lanes, mask))
        return every_nth(emit, parts, 0)


class VnniInputPacker(InputPacker):
    """A packed input of groups; channels after the last are zeros.

    Args:
        conv, emit, units, beyond: as `InputPacker` takes them.
    """

    def __init__(
        self, conv: Convolution, emit: Emitter, units: dict[int | None, int], beyond: int
    ) -> None:
        assert conv.grouped is not None  # other inputs are packed as they are
        self._grouped, dot = conv.grouped, conv.grouped.dot
        # The channels of the present group, None for all.
        self._live: Index | None = None
        super().__init__(conv, emit, units, beyond)
        self._groups = VnniLoader(
            emit, self._source, dot, dot.widen[1], dot.flips_signs, self._lanes
        )
        self._channels = self._extent(self._grouped.position)

    def _type(self) -> ir.VectorType:
        return groups_type(self._lanes)

    def _length(self, d: int) -> Index:
        length = super()._length(d)
        return ceil_div(length, self._grouped.dot.group) if d == self._grouped.axis else length

    def _loader(self) -> Loader:
        dot = self._grouped.dot
        part = ir.VectorType.get([self._lanes], dot.part)
        return Loader(self._emit, self._source, dot.widen[1], part)

    def _nothing(self) -> ir.Value:
        if not self._grouped.dot.flips_signs:
            return super()._nothing()
        return flipped_zeros(self._emit, self._grouped.dot, self._vector)

    def _level(self, level: int, place: Index, to: Index) -> None:
        emit, d, group = self._emit, self._order[level], self._grouped.dot.group
        if d != self._grouped.axis or level + 1 == len(self._order):
            super()._level(level, place, to)
            return

        def copy(number: Index, live: Index | None) -> None:
            self._live = live
            first = number * group * self._source_strides[d]
            there = to + number * self._strides[d]
            self._level(level + 1, place + first, there)

        whole = self._channels // group
        with self._emit.each_step(0, whole) as number:
            copy(number, None)
        left = self._channels - whole * group
        emit.if_any(left, lambda: copy(whole, left))

    def _joins(self, level: int) -> bool:
        return self._grouped.axis not in self._order[level:] and super()._joins(level)

    def _row(self, place: Index, to: Index, count: Index, step: int) -> None:
        if self._order[-1] != self._grouped.axis:
            super()._row(place, to, count, step)
            return
        # All channels of a pixel, which are adjacent.
        emit, group = self._emit, self._grouped.dot.group

        def copy(at: Index, mask: ir.Value | None) -> None:
            value = self._groups.along_k(place + at, mask)
            emit.vector_store(value, self.base, [to + at // group])

        emit.each_vector(0, self._channels, self._lanes * group, copy)

    def _one(self, place: Index) -> ir.Value:
        return self._groups.one(place, self._source_strides[self._grouped.axis], self._live)

    def _vector_of(self, from_: Index, left: Index, step: int) -> ir.Value:
        emit, live = self._emit, self._live
        apart = self._source_strides[self._grouped.axis]
        rows = []
        for i in range(live if isinstance(live, int) else self._grouped.dot.group):
            there = left
            if isinstance(live, ir.Value):
                there = emit.select(emit.compare("slt", i, live), left, 0)
            rows.append(super()._vector_of(from_ + i * apart, there, step))
        return self._groups.together(rows)
