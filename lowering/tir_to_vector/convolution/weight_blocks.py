"""The weights of a convolution in blocks of a vector of output channels, in place or packed."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import (
    flipped_zeros,
    groups_type,
    is_signed,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout, Loader, VnniLoader
from relax_mlir.lowering.tir_to_vector.contraction.packing import Packer
from relax_mlir.lowering.tir_to_vector.convolution.pattern import (
    Convolution,
    VnniGroups,
    given_buffer,
)
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef, add
from relax_mlir.lowering.tir_to_vector.index_emit import Index, ceil_div


class WeightBlocks:
    """Blocks of weights: a vector of output channels for each step of the reductions.

    Attributes:
        block: the iterator over blocks if the weights are in blocks already, else None.
        count: the number of blocks.
        parts: the vectors of a block.
        prepacked: whether a buffer holds all packed blocks.
    """

    prepacked = False

    def __init__(self, conv: Convolution, emit: Emitter, vector: ir.VectorType) -> None:
        self._conv, self._emit, self._vector = conv, emit, vector
        self._operand = vector
        self._layout = Layout(conv.weight, emit)
        self._lanes = vector.shape[0]
        self._channels = emit.size(conv.iter(conv.lane).extent)
        self._blocked = conv.unit is None
        self.ready: bool = self._blocked and conv.widen[1] is None
        self.block: int | None = conv.blocks[-1] if self._blocked and conv.blocks else None
        self.parts: int = 1
        if self._blocked:
            self.parts = self._channels // self._lanes
            self.count = emit.size(conv.iter(self.block).extent) * self.parts
        else:
            self.count = ceil_div(self._channels, self._lanes)
        self._packed: ir.Value | None = None
        self._order = self._packed_order()
        self._strides: dict[int, Index] = {}
        self._steps: Index = 1
        for position in reversed(self._order):
            self._strides[position] = self._steps * self._lanes
            self._steps *= self.extent(position)

    def _packed_order(self) -> list[int]:
        """Return the reductions in the order of packed blocks."""
        return self._conv.loop_order

    def extent(self, position: int | None) -> Index:
        """Return the number of steps of an iterator."""
        return self._emit.size(self._conv.iter(position).extent)

    def bytes_at_most(self, limit: int) -> bool:
        """Whether all weights are known to have at most `limit` bytes."""
        total = self._steps * self.count * self._lanes
        width = max(8, self._vector.element_type.width) // 8
        return isinstance(total, int) and total * width <= limit

    def allocate(self, blocks: Index) -> None:
        """Allocate packed blocks."""
        if self.ready:
            return
        emit = self._emit
        with emit.outside():
            rows = blocks * self._steps + self._lanes
            size = rows * self._lanes
        self._packed = emit.alloc(size, self._operand.element_type)

    def pack(self, env: dict[int, Index], first: Index, last: Index) -> None:
        """Pack a range of blocks; those that are blocks already change their type only."""
        if self.ready:
            return
        emit, conv = self._emit, self._conv
        load = Loader(emit, self._layout.base, conv.widen[1], self._vector)
        if self._blocked:
            with self._each_step(env, first, last, self._order) as (_, place, to):
                emit.vector_store(load.vectors(place, None), self._packed, [to])
            return
        source = self._layout.at(env)
        stride = self._layout.stride(conv.lane)
        start = first * self._lanes
        offset = source.offset + start * stride
        stop = emit.min(last * self._lanes, self._channels)
        packer = Packer(load, self._lanes, self._packed, self._steps * self._lanes)
        assert conv.unit is not None  # weights in blocks are not packed
        unit = emit.size(conv.unit)
        block = StridedRef(source.base, offset, {"n": stride, "k": unit})
        packer.pack(block, stop - start, self._steps)

    @contextmanager
    def _each_step(
        self, env: dict[int, Index], first: Index, last: Index, order: list[int]
    ) -> Iterator[tuple[Index, Index, Index]]:
        """Loop over blocks and over steps of some reductions in each.

        Yields the block, the place of a step's first channel in the weights, and its packed place.
        """
        emit = self._emit
        with ExitStack() as loops:
            block = loops.enter_context(emit.loop(first, last)).counter
            place = self.source(env, block)
            to = (block - first) * (self._steps * self._lanes)
            for position in order:
                step = loops.enter_context(emit.loop(0, self.extent(position))).counter
                place += step * self._layout.stride(position)
                to += step * self._strides[position]
            yield block, place, to

    def stride(self, position: int | None) -> Index:
        """Return the stride of a reduction."""
        if self.ready:
            return self._layout.stride(position)
        if position is None:
            return 0
        if self._blocked:
            return self._strides[position]
        emit = self._emit
        steps = self._conv.weight.strides[position]
        # Packing keeps the order of the steps in memory.
        return emit.size(steps // self._conv.unit) * self._lanes

    def at(self, env: dict[int, Index], packed: Index, block: Index) -> Index:
        """Return the place of a block.

        Args:
            env: counters of the outer iterators.
            packed: the block's number among the packed ones.
            block: its number.
        """
        if not self.ready:
            return packed * (self._steps * self._lanes)
        return self.source(env, block)

    def source(self, env: dict[int, Index], block: Index) -> Index:
        """Return the place of a block in the unpacked weights."""
        return self._layout.at({**env, **self.place(block)}).offset

    def place(self, block: Index) -> dict[int, Index]:
        """Return the counters of the first channel of a block."""
        if self.block is None:
            return {self._conv.lane: block * self._lanes}
        part = 0 if self.parts == 1 else block - block // self.parts * self.parts
        lane = part * self._lanes
        return {self.block: block // self.parts, self._conv.lane: lane}

    @property
    def steps(self) -> int | None:
        """The steps of a block where those of all blocks follow each other in place, else None."""
        if not self.ready or self.block is None:
            return None
        size = self._steps * (self._lanes * self.parts)
        adjacent = self._layout.stride(self.block) == size
        return self._steps if adjacent and isinstance(self._steps, int) else None

    def prefetch(self, place: Index) -> None:
        """Prefetch a line of weights into L2."""
        self._emit.prefetch(self._layout.base, place, far=True)

    def load(self, place: Index) -> ir.Value:
        """Load a vector of output channels."""
        base = self._layout.base if self.ready else self._packed
        return self._emit.vector_load(base, [place], self._operand)

    def start(self, packed: Index) -> ir.Value | None:
        """Return the initial sums of a packed block, None for zeros."""
        return None

    def left(self, block: Index, vectors: int) -> Index:
        """Return the channels from a block on, at most those of some vectors."""
        emit = self._emit
        whole = vectors * self._lanes
        whole_blocks = isinstance(self._channels, int) and self._channels % self._lanes == 0
        if self._blocked or whole_blocks:
            return whole
        return emit.min(self._channels - block * self._lanes, whole)


# Independent accumulators of one block.
_IN_FLIGHT = 4


class VnniWeights(WeightBlocks):
    """Blocks of weights in VNNI layout; packed by the kernel or prepacked.

    If the sign bits of the image are flipped, sums of a block start from a correction.
    """

    def __init__(self, conv: Convolution, emit: Emitter, vector: ir.VectorType) -> None:
        assert conv.grouped is not None  # other weights are packed as they are
        self._grouped, self._dot = conv.grouped, conv.grouped.dot
        super().__init__(conv, emit, vector)
        self.ready = False
        self._operand = groups_type(self._lanes)
        base = self._layout.base
        self._load = VnniLoader(emit, base, self._dot, self._dot.widen[0], False, self._lanes)
        self._starts: ir.Value | None = None
        prepacked = prepacked_weights(conv, self._grouped, self._lanes)
        self.prepacked: bool = prepacked is not None
        if prepacked is not None:
            self._packed = emit.flatten_once(prepacked)

    def _packed_order(self) -> list[int]:
        # Groups are contiguous: several are packed at once.
        return group_order(self._conv, self._grouped)

    def extent(self, position: int | None) -> Index:
        """Return the number of steps of an iterator, in groups for the grouped one."""
        extent = super().extent(position)
        return ceil_div(extent, self._dot.group) if position == self._grouped.position else extent

    def stride(self, position: int | None) -> Index:
        """Return the stride of a reduction, in groups."""
        return 0 if position is None else self._strides[position]

    def allocate(self, blocks: Index) -> None:
        """Allocate packed blocks, and the corrections of their sums."""
        if self.prepacked:
            return
        super().allocate(blocks)
        if self._dot.flips_signs:
            emit = self._emit
            with emit.outside():
                size = blocks * self._lanes
            self._starts = emit.alloc(size, self._vector.element_type)

    def pack(self, env: dict[int, Index], first: Index, last: Index) -> None:
        """Pack a range of blocks."""
        if self.prepacked:
            return
        emit, lanes = self._emit, self._lanes
        *others, channels = self._order
        steps = WeightBlocks.extent(self, channels)
        stride = self._layout.stride(channels)
        with self._each_step(env, first, last, others) as (block, place, to):
            if self._blocked:
                self._pack_rows(place, stride, steps, to)
            else:
                source = StridedRef(
                    self._layout.base, place,
                    {"n": self._layout.stride(self._conv.lane), "k": stride},
                )  # fmt: skip
                left = emit.min(self._channels - block * lanes, lanes)
                Packer(self._load, lanes, self._packed, 0, to).pack(source, left, steps)
        if self._dot.flips_signs:
            self._write_starts(first, last)

    def _pack_rows(self, place: Index, stride: Index, steps: Index, to: Index) -> None:
        """Pack weights in blocks: a vector of output channels for each input channel."""
        emit, lanes, group = self._emit, self._lanes, self._dot.group

        def copy(number: Index, live: Index | None) -> None:
            at = place + number * group * stride
            if stride == lanes:
                value = self._load.in_order(at, live)
            else:
                value = self._strided_group(at, stride, live)
            emit.vector_store(value, self._packed, [to + number * lanes])

        whole = steps // group
        with emit.loop(0, whole) as loop:
            copy(loop.counter, None)
        left = steps - whole * group
        emit.if_any(left, lambda: copy(whole, left))

    def _strided_group(self, at: Index, stride: Index, live: Index | None) -> ir.Value:
        emit, lanes, group = self._emit, self._lanes, self._dot.group
        rows = live if isinstance(live, int) else group
        places = [at + i * stride for i in range(rows)]
        masks: list[ir.Value | None] = [None] * rows
        if isinstance(live, ir.Value):
            there = [emit.select(emit.compare("slt", i, live), lanes, 0) for i in range(rows)]
            masks = [emit.mask(count, lanes) for count in there]
        return self._load.across_k(places, masks)

    def _write_starts(self, first: Index, last: Index) -> None:
        """Write the correction of flipped signs of each channel."""
        emit, lanes = self._emit, self._lanes
        zeros = flipped_zeros(emit, self._dot, self._operand)
        nothing = emit.constant(self._vector, 0)
        with emit.loop(0, last - first) as block:
            start = self.at({}, block.counter, 0)

            def after(step: Index, total: ir.Value) -> ir.Value:
                value = self.load(start + step * lanes)
                return self._dot.multiply_add(emit, value, zeros, total)

            whole = emit.round_down(self._steps, _IN_FLIGHT)
            with emit.loop(0, whole, _IN_FLIGHT, [nothing] * _IN_FLIGHT) as loop:
                loop.carry([after(loop.counter + i, x) for i, x in enumerate(loop.carried)])
            total = reduce(partial(add, emit), loop.results)
            with emit.loop(whole, self._steps, 1, [total]) as loop:
                loop.carry([after(loop.counter, loop.carried[0])])
            value = emit.op("arith.subi", [nothing, loop.results[0]], self._vector)
            emit.vector_store(value, self._starts, [block.counter * lanes])

    def at(self, env: dict[int, Index], packed: Index, block: Index) -> Index:
        """Return the place of a packed block."""
        steps = self._steps
        if self.prepacked and self._dot.flips_signs:
            steps += 1
        return packed * (steps * self._lanes)

    def start(self, packed: Index) -> ir.Value | None:
        """Return the initial sums of a packed block, None for zeros."""
        if self.prepacked and self._dot.flips_signs:
            end = self._steps * self._lanes
            return self.load(self.at({}, packed, packed) + end)
        if self._starts is None:
            return None
        place = packed * self._lanes
        return self._emit.vector_load(self._starts, [place], self._vector)


# A block's annotation: the layout of packed weights, see `note_of`.
VNNI_WEIGHTS = "tir.vnni_weights"
HEADER = 6


def group_order(conv: Convolution, grouped: VnniGroups) -> list[int]:
    """Return the reductions in the order of the packed weights, the grouped one last."""
    return [*(i for i in conv.loop_order if i != grouped.position), grouped.position]


def note_of(conv: Convolution, grouped: VnniGroups, lanes: int) -> list[int] | None:
    """Return the layout of a convolution's packed weights, None if it has none.

    It has the lanes of a vector, the elements of a group and their bits, whether the image's sign
    bits are flipped, whether weights are the instruction's second operand, and whether they are
    signed; then extents and strides in the weights: of blocks of output channels, of channels of a
    block, of reductions.
    """
    block = conv.blocks[-1] if conv.unit is None and conv.blocks else None
    order, dot = group_order(conv, grouped), grouped.dot
    walked = [block, conv.lane, *order]
    strides = conv.weight.strides
    others = [i for i in range(len(strides)) if i not in walked]
    if conv.weight.offset != 0 or any(strides[i] != 0 for i in others):
        return None
    note = [lanes, dot.group, dot.part.width, dot.flips_signs, dot.b_first, is_signed(dot.widen[0])]
    for i in walked:
        extent, stride = (1, 0) if i is None else (conv.iter(i).extent.value, strides[i].value)
        if extent is None or stride is None:
            return None
        note += [extent, stride]
    return [int(number) for number in note]


def packed_shape(note: Sequence[int]) -> tuple[int, int, int]:
    """Return the shape of packed weights: blocks, steps and a correction of signs, lanes."""
    lanes, group, _, flips_signs, *_ = note
    blocks, channels, *steps, last = note[HEADER::2]
    rows = int(np.prod(steps, dtype=np.int64)) * -(-last // group)
    return -(-blocks * channels // lanes), rows + flips_signs, lanes


def prepacked_weights(conv: Convolution, grouped: VnniGroups, lanes: int) -> ir.Value | None:
    """Return the buffer of a convolution's packed weights, None if there is none in this layout.

    Args:
        conv: the convolution.
        grouped: the layout that the kernel needs.
        lanes: groups of a vector.
    """
    given = given_buffer(conv.flat.nest, VNNI_WEIGHTS)
    if given is None or given[0] != note_of(conv, grouped, lanes):
        return None
    note, buffer = given
    same = str(buffer.type.element_type) == "i32" and tuple(buffer.type.shape) == packed_shape(note)
    return buffer if same else None
