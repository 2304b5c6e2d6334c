"""The weights of a convolution in blocks of a vector of output channels, in place or packed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import StridedRef
from relax_mlir.lowering.tir_to_vector.contraction.operands import Layout
from relax_mlir.lowering.tir_to_vector.contraction.packing import Loader, PanelPacker
from relax_mlir.lowering.tir_to_vector.convolution.pattern import Convolution
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index


class WeightBlocks:
    """Blocks of weights: a vector of output channels for each step of the reductions.

    Attributes:
        block: the iterator over blocks if the weights are in blocks already, else None.
        count: the number of blocks.
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
        # Weights may be in blocks of several vectors.
        self._parts = 1
        if self._blocked:
            self._parts = self._channels // self._lanes
            self.count = emit.mul(emit.size(conv.iter(self.block).extent), self._parts)
        else:
            self.count = emit.div(emit.add(self._channels, self._lanes - 1), self._lanes)
        self._packed: ir.Value | None = None
        # In the order of the loops.
        order = [i for i in (*conv.reductions, conv.k, conv.taps) if i is not None]
        self._order = self._ordered(order)
        self._strides: dict[int, Index] = {}
        self._steps: Index = 1
        for position in reversed(self._order):
            self._strides[position] = emit.mul(self._steps, self._lanes)
            self._steps = emit.mul(self._steps, self.extent(position))

    def _ordered(self, order: list[int]) -> list[int]:
        """Return the reductions in the order of packed blocks, given their loop order."""
        return order

    def extent(self, position: int | None) -> Index:
        """Return the number of steps of an iterator."""
        return self._emit.size(self._conv.iter(position).extent)

    def bytes_at_most(self, limit: int) -> bool:
        """Whether all weights are known to have at most `limit` bytes."""
        total = self._emit.mul(self._emit.mul(self._steps, self.count), self._lanes)
        width = max(8, self._vector.element_type.width) // 8
        return isinstance(total, int) and total * width <= limit

    def allocate(self, blocks: Index) -> None:
        """Allocate packed blocks."""
        if self.ready:
            return
        emit = self._emit
        with emit.outside():
            rows = emit.add(emit.mul(blocks, self._steps), self._lanes)
            size = emit.mul(rows, self._lanes)
        self._packed = emit.alloc(size, self._operand.element_type)

    def pack(self, env: dict[int, Index], first: Index, last: Index) -> None:
        """Pack a range of blocks."""
        if self.ready:
            return
        emit, conv = self._emit, self._conv
        if self._blocked:
            self._convert(env, first, last)
            return
        source = self._layout.at(env)
        stride = self._layout.stride(conv.lane)
        start = emit.mul(first, self._lanes)
        offset = emit.add(source.offset, emit.mul(start, stride))
        stop = emit.min(emit.mul(last, self._lanes), self._channels)
        load = Loader(emit, source.base, conv.widen[1], self._vector)
        packer = PanelPacker(load, self._lanes, self._packed, emit.mul(self._steps, self._lanes))
        assert conv.unit is not None  # weights in blocks are not packed
        unit = emit.size(conv.unit)
        block = StridedRef(source.base, offset, {"n": stride, "k": unit})
        packer.pack(block, emit.sub(stop, start), self._steps)

    def _convert(self, env: dict[int, Index], first: Index, last: Index) -> None:
        """Copy blocks in the type of the sum."""
        emit = self._emit
        load = Loader(emit, self._layout.base, self._conv.widen[1], self._vector)
        with self._each_step(env, first, last, self._order) as (_, place, to):
            emit.vector_store(load.vectors(place, None), self._packed, [to])

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
            to = emit.mul(emit.sub(block, first), emit.mul(self._steps, self._lanes))
            for position in order:
                step = loops.enter_context(emit.loop(0, self.extent(position))).counter
                place = emit.add(place, emit.mul(step, self._layout.stride(position)))
                to = emit.add(to, emit.mul(step, self._strides[position]))
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
        return emit.mul(emit.size(steps // self._conv.unit), self._lanes)

    def at(self, env: dict[int, Index], packed: Index, block: Index) -> Index:
        """Return the place of a block.

        Args:
            env: counters of the outer iterators.
            packed: the block's number among the packed ones.
            block: its number.
        """
        emit = self._emit
        if not self.ready:
            return emit.mul(packed, emit.mul(self._steps, self._lanes))
        return self.source(env, block)

    def source(self, env: dict[int, Index], block: Index) -> Index:
        """Return the place of a block in the unpacked weights."""
        return self._layout.at({**env, **self.place(block)}).offset

    def _part(self, block: Index) -> Index:
        emit = self._emit
        if self._parts == 1:
            return 0
        return emit.sub(block, emit.mul(emit.div(block, self._parts), self._parts))

    def place(self, block: Index) -> dict[int, Index]:
        """Return the counters of the first channel of a block."""
        emit = self._emit
        if self.block is None:
            return {self._conv.lane: emit.mul(block, self._lanes)}
        lane = emit.mul(self._part(block), self._lanes)
        return {self.block: emit.div(block, self._parts), self._conv.lane: lane}

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
        return emit.min(emit.sub(self._channels, emit.mul(block, self._lanes)), whole)
