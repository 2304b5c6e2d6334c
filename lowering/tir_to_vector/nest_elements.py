"""Elements and vectors of a nest over flat memory: loads, computation, stores."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.outlined_functions import CALLED, called_functions
from relax_mlir.lowering.tir_to_vector.analysis import DIVIDES
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP, UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatIter, FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span, steps_of
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of, has_functions
from relax_mlir.lowering.tir_to_vector.row_fusion.split_row import SplitRow
from relax_mlir.lowering.tir_to_vector.shuffles import load_strided
from relax_mlir.lowering.walk import defining_op


@dataclass(frozen=True)
class Lanes:
    """Adjacent steps of a nest that are computed together.

    Attributes:
        env: counters of the iterators that have no lanes.
        at: the first step of the vectorised iterator.
        count: how many there are; 1 for a scalar.
        mask: which of them exist, None for all.
    """

    env: dict[int, Index]
    at: Index = 0
    count: int = 1
    mask: ir.Value | None = None

    def where(self, counters: Mapping[int, Index]) -> "Lanes":
        """Return the same lanes at other counters."""
        return replace(self, env={**self.env, **counters})

    def typed(self, element: ir.Type) -> ir.Type:
        """Return the type of their values."""
        return element if self.count == 1 else ir.VectorType.get([self.count], element)


Carried = list[ir.Value]
# Writes some lanes.
Chunk = Callable[[Lanes], object]

# Independent vectors that hide latency.
WIDE = 4
# The cost of an element and of an elementary function, in FMAs.
_ELEMENT, _MATH = 6, 32
# The prefetch distance of a stream, in bytes. It goes into L2, which has more misses in flight.
_AHEAD = 12 << 10
# Of a reduction from memory. Zen 4, `benchmarks/compare.py --only reduce_.*out_of_cache`, one and
# two threads: 1.10 and 1.19 times as fast as without; with the distance above, 0.7 to 0.9. From
# caches 0.75 to 0.95, so that run time does not choose it.
READ_AHEAD = 2 << 10


class ElementWriter:
    """Writes elements and vectors of a nest, and the loops along its vectors.

    Args:
        vector: the vectorised iterator, None for scalars.
        near: whether all its buffers are in cache, so that stores are plain.

    Attributes:
        also: called in the main loop of a reduction along its vectors, with the place of each
            step.
    """

    flat: FlatNest
    vector: int | None
    emit: Emitter
    masks_strided = False

    def __init__(
        self, flat: FlatNest, vector: int | None, emit: Emitter, *, near: bool = False
    ) -> None:
        self.near = near
        self.long: SplitRow | None = None
        self.flat, self.vector, self.emit = flat, vector, emit
        self.machine = machine = emit.machine
        self._known: dict[ir.Operation, ir.Value] = {}
        self.inner: set[int | None] = {vector}
        self.streamed = False
        self.non_temporal: bool | None = None
        self._ahead: dict[ir.Operation, Index] = {}
        self.also: Callable[[Index], None] | None = None
        self._in_block: tuple[int, Index] | None = None
        self._ranges: dict[int, tuple[Index, Index]] = {}
        types = [op.results[0].type for op in flat.slice] + [flat.store.operands[0].type]
        widest = max(bits_of(type_) for type_ in types)
        stored = [bits_of(access.buffer.type.element_type) for access in flat.accesses.values()]
        self.lanes: int = max(1, machine.vector_bits // widest)
        loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
        self.masked: bool = machine.can_mask(min(stored, default=32)) and not any(
            op.name in DIVIDES for op in flat.slice
        )
        if vector is not None and not self.masks_strided:
            self.masked &= all(load.strides[vector] in (0, 1) for load in loads)
        self._called = called_functions(flat.slice)
        self.bases: dict[ir.Operation, ir.Value] = {
            op: emit.flatten_once(access.buffer) for op, access in flat.accesses.items()
        }

    @property
    def computes_functions(self) -> bool:
        """Whether it computes elementary functions of several instructions."""
        return has_functions(self.flat)

    def fetches(self, buffer: ir.Value, position: int, far: Bool) -> bool:
        """Prefetch the nest's accesses of a buffer some rows ahead, if it walks along them.

        Unless they are far, which run time may know, it is what they access now.
        """
        for op in (*self.flat.slice, self.flat.store):
            access = self.flat.accesses.get(op)
            if (
                access is not None
                and access.buffer == buffer
                and not access.in_rows
                and self.vector is not None
                and access.strides[self.vector] == 1
                and access.strides[position] != 0
            ):
                row = self.emit.size(access.strides[position])
                least = 0 if op == self.flat.store else _AHEAD * 8 // self.bits(op)
                self._ahead[op] = self.emit.select(far, self.emit.max(row, least), 0)
                return True
        return False

    def fetch_all(self, beyond: int, ahead: int = _AHEAD) -> None:
        """Prefetch so many bytes ahead what a nest walks along, if that is more than `beyond`."""
        strides = {op: access.strides for op, access in self.flat.accesses.items()}
        walked = [op for op in strides if self.vector is not None and strides[op][self.vector] == 1]
        total: Index = 0
        for op in walked:
            steps = zip(self.flat.iters, strides[op], strict=True)
            moving = [it for it, stride in steps if stride != 0]
            total += times_extents(self.emit, moving, self.bits(op) // 8)
        far = self.emit.all_at_most((beyond, total))
        for op in walked if far is not False else ():
            self._ahead[op] = self.emit.select(far, ahead * 8 // self.bits(op), 0)

    def begin_row(self, position: int, row: Index) -> None:
        """Set the row in a block of rows that an iterator counts."""
        self._in_block = (position, row)

    def _work(self) -> Index:
        """Return the work in the unit of `MIN_PARALLEL_WORK`."""
        each = _ELEMENT + sum(_MATH if op.name.startswith("math.") else 1 for op in self.flat.slice)
        return work_of(self.emit, self.flat, each)

    def _span(self, position: int) -> tuple[Index, Index]:
        """Return the range of an iterator of the inner code."""
        if self.long is not None and position == self.vector:
            return self.long.span(self.emit)
        return self._ranges.get(position) or (0, self.emit.size(self.flat.iters[position].extent))

    def bits(self, access: ir.Operation) -> int:
        """Return the bits of an access's element."""
        return bits_of(self.flat.accesses[access].buffer.type.element_type)

    def chunk(self, lanes: Lanes, non_temporal: bool = False) -> None:
        """Write some lanes of a map."""
        self._put(self._value(lanes), lanes, non_temporal)

    def _chunks(
        self, chunk: Chunk, env: dict[int, Index], most: int = WIDE,
        span: Span | None = None,
    ) -> None:  # fmt: skip
        """Run along the vectorised iterator by several vectors, then by one, then the tail.

        The range of the tail, less than several vectors, may be given.
        """
        emit, lanes = self.emit, self.lanes
        if self.vector is None:
            chunk(Lanes(env))
            return
        done, size = span or self._span(self.vector)
        widths = {lanes} if span else {lanes * most, lanes * WIDE, lanes}
        for width in sorted(widths, reverse=True):
            upto = done + emit.round_down(size - done, width)
            if not isinstance(upto, int) or upto != done:
                with emit.loop(done, upto, width, hints=KEEP) as loop:
                    chunk(Lanes(env, loop.counter, width))
            done = upto
        left = size - done
        if left == 0:
            return
        if not self.masked:
            with emit.loop(done, size) as loop:
                chunk(Lanes(env, loop.counter))
        else:
            rest = Lanes(env, done, lanes, emit.mask(left, lanes))
            emit.if_any(left, lambda: chunk(rest))

    def _loops(
        self, env: dict[int, Index], positions: list[int], carried: Carried,
        body: Callable[[dict[int, Index], Carried], Carried],
    ) -> Carried:  # fmt: skip
        """Write loops with carried sums."""
        if not positions:
            return body(env, carried)
        iters = self.flat.iters
        extent, *more = [self.emit.size(iters[i].extent) for i in positions]
        if self.vector is not None and iters[self.vector].reduction:
            more.append(self.emit.size(iters[self.vector].extent))
        steps = steps_of(self.emit, extent, more)
        with self.emit.loop(0, steps, 1, carried, UNROLL) as loop:
            inner = {**env, positions[0]: loop.counter}
            loop.carry(self._loops(inner, positions[1:], loop.carried, body))
        return loop.results

    def _start(self, lanes: Lanes) -> ir.Value:
        """Return what a reduction begins with."""
        if self.flat.init is None:
            return self._get(self.flat.store, lanes)
        return self.emit.constant_of(lanes.typed(self.flat.value.type), self.flat.init)

    def _address(self, op: ir.Operation, lanes: Lanes) -> tuple[Index, Index]:
        """Return the place of an access, and its stride along the vector."""
        emit, access = self.emit, self.flat.accesses[op]
        place = emit.size(access.offset)
        for position, counter in lanes.env.items():
            if access.in_rows and self._in_block is not None and position == self._in_block[0]:
                counter = self._in_block[1]
            place += counter * emit.size(access.strides[position])
        stride = 0 if self.vector is None else emit.size(access.strides[self.vector])
        return place + lanes.at * stride, stride

    def _get(self, op: ir.Operation, lanes: Lanes) -> ir.Value:
        """Return what a load reads."""
        emit, base = self.emit, self.bases[op]
        place, stride = self._address(op, lanes)
        if lanes.count == 1:
            return emit.load(base, [place])
        type_ = ir.VectorType.get([lanes.count], base.type.element_type)
        if stride == 0:
            return emit.splat(emit.load(base, [place]), type_)
        if stride != 1:
            return load_strided(emit, base, place, stride, lanes.count, self.lanes)
        self._prefetch(op, place, lanes.count)
        return emit.vector_load(base, [place], type_, lanes.mask)

    def _put(
        self, value: ir.Value, lanes: Lanes, non_temporal: bool = False,
        store: ir.Operation | None = None,
    ) -> None:  # fmt: skip
        """Store a value, by another access than the nest's store if one is given."""
        op = store or self.flat.store
        place, _ = self._address(op, lanes)
        if not isinstance(value.type, ir.VectorType):
            self.emit.store(value, self.bases[op], [place])
            return
        if not non_temporal:
            self._prefetch(op, place, value.type.shape[0])
        self.emit.vector_store(
            value, self.bases[op], [place], lanes.mask, non_temporal=non_temporal and self.lanes
        )

    def _prefetch(self, op: ir.Operation, place: Index, lanes: int) -> None:
        if op not in self._ahead:
            return
        place += self._ahead[op]
        for lane in range(0, lanes, self.emit.isa.line(self.bits(op))):
            here = place + lane
            write = op == self.flat.store
            self.emit.prefetch(self.bases[op], here, write=write, far=not write)

    def _counter(self, position: int | None, lanes: Lanes, element: ir.Type) -> ir.Value:
        """Return an iterator's value, scalar or vector, in an integer type."""
        emit = self.emit
        walks = position is not None and position == self.vector
        here = 0 if position is None else lanes.env.get(position, 0)
        single = emit.index(lanes.at if walks else here)
        if element != emit.index_type:
            single = emit.op("arith.index_cast", [single], element)
        if lanes.count == 1:
            return single
        type_ = ir.VectorType.get([lanes.count], element)
        first = emit.splat(single, type_)
        if not walks:
            return first
        if element == emit.index_type:
            steps = emit.op("vector.step", [], type_)
        else:
            steps = emit.numbers(type_, range(lanes.count))
        return emit.op("arith.addi", [first, steps], type_)

    def _anew(self, value: ir.Value) -> ir.Value:
        """Return a value from outside; constants are copied, as the nest is erased."""
        op = defining_op(value, "arith.constant")
        return value if op is None else self.emit.constant_of(value.type, op.attributes["value"])

    def _value(self, lanes: Lanes) -> ir.Value:
        """Copy what the block computes, as a scalar or a vector."""
        return self._values([self.flat.value], lanes, {})[0]

    def _values(
        self, wanted: Sequence[ir.Value], lanes: Lanes, made: dict[ir.Value, ir.Value],
        slice_: Sequence[ir.Operation] | None = None,
    ) -> list[ir.Value]:  # fmt: skip
        """Copy what computes some values of the block; `made` holds the copies."""

        def operand(value: ir.Value) -> ir.Value:
            if value not in made:
                if value in self.flat.counters:
                    position = self.flat.counters[value]
                    made[value] = self._counter(position, lanes, self.emit.index_type)
                    return made[value]
                single = self._anew(value)
                made[value] = single
                if lanes.count > 1:
                    made[value] = self.emit.splat(single, lanes.typed(value.type))
            return made[value]

        for op in self.flat.slice if slice_ is None else slice_:
            if op.name == "memref.load":
                made[op.results[0]] = self._get(op, lanes)
                continue
            if op.name == "arith.index_cast" and op.operands[0] in self.flat.counters:
                # In the wanted type at once: vectors of indices are twice as long.
                position = self.flat.counters[op.operands[0]]
                element = op.results[0].type
                made[op.results[0]] = self._counter(position, lanes, element)
                continue
            operands = [operand(value) for value in op.operands]
            made[op.results[0]] = copy = self.emit.copied(op, operands)
            if op in self._called:
                copy.owner.attributes[CALLED] = ir.UnitAttr.get()
        return [operand(value) for value in wanted]


def work_of(emit: Emitter, flat: FlatNest, each: int) -> Index:
    """Return the product of all extents and the cost of a step; 0 with one thread."""
    if emit.threads == 1:
        return 0
    return times_extents(emit, flat.iters, each)


def times_extents(emit: Emitter, iters: Iterable[FlatIter], each: Index) -> Index:
    """Return the product of a number and the extents of iterators."""
    return math.prod((emit.size(it.extent) for it in iters), start=each)
