"""Vector code of maps whose lanes have places of their own."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.branches import guard_of, operations
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, constant_or_value
from relax_mlir.lowering.tir_to_vector.maps.index_lanes import Chunk
from relax_mlir.lowering.tir_to_vector.maps.index_map import MOST_STEP, IndexMap, Varying
from relax_mlir.lowering.tir_to_vector.vector_nest import DIVIDES, NestWriter, work_of

# Places take a register for every eight of them.
_MOST_LANES = 16
# How much longer an element takes than a multiply-add of a contraction.
_ELEMENT = 24


class IndexMapWriter(NestWriter):
    """Writes such a nest: every value is a number where all lanes have the same, else a vector."""

    found: IndexMap

    def __init__(self, found: IndexMap, emit: Emitter, machine: Machine) -> None:
        bits = [_bits(access.buffer) for access in found.flat.accesses.values()]
        self.has_gather: bool = machine.gathers and machine.vector_bits >= 256 and min(bits) >= 32
        varies = Varying(found)
        if not self.has_gather and any(varies(v) for v, _ in found.found[found.flat.store]):
            found = replace(found, vector=None)
        written = found.flat.accesses[found.flat.store].strides
        spaced = found.vector is not None and found.repeats == 1 and written[found.vector] != 1
        if spaced and not machine.can_mask(_bits(found.flat.written)):
            found = replace(found, vector=None)
        if found.branches and not machine.can_mask(min(bits)):
            found = replace(found, vector=None)
        super().__init__(found.flat, found.vector, emit, machine)
        self.found, self._repeats = found, found.repeats
        self.inner: set[int] = found.inner | set(found.ordered)
        self.varies: Varying = Varying(found)
        body = [op for top in found.flat.nest.body() for op in operations(top)]
        # What all lanes share is no vector, however wide: bounds of windows, say.
        values = [op.results[0] for op in found.flat.slice if self.varies(op.results[0])]
        widest = max(_width(value) for value in (*values, found.flat.store.operands[0]))
        self.lanes = max(1, machine.vector_bits // widest)
        if any(op.name in DIVIDES and not _is_known(op.operands[1]) for op in body):
            self.masked = False
        if not self.has_gather and any(self.is_looked_up(op) for op in found.found):
            self.masked: bool = False
        if any(self.varies(value) for pairs in found.found.values() for value, _ in pairs):
            self.lanes: int = min(self.lanes, _MOST_LANES)
        self.row: dict[ir.Value, ir.Value] = {}

    def is_looked_up(self, op: ir.Operation) -> bool:
        """Whether the last vector of an access is a gather."""
        step = self.step(op)
        if op == self.flat.store and step is not None:
            return False
        return step is None or (self._repeats == 1 and step[0] not in (-1, 0, 1))

    def work(self) -> Index:
        """Return how much there is to do, in the terms of `LEAST_WORK`."""
        return work_of(self.emit, self.flat, _ELEMENT)

    _work = work

    def write_row(self, env: dict[int, Index]) -> None:
        """Write the steps of the vector, given the counters of all other iterators."""
        self._along(dict(env))

    def _split_inside(self) -> list[int]:
        return [] if self.found.vector is None else [self.found.vector]

    def _past_cache(self) -> bool:
        return False

    def _map(self, env: dict[int, Index]) -> None:
        with ExitStack() as loops:
            for position in self.found.ordered:
                extent = self.emit.size(self.flat.iters[position].extent)
                env[position] = loops.enter_context(self.emit.loop(0, extent)).counter
            self._along(env)

    def _along(self, env: dict[int, Index]) -> None:
        """Write the steps of the vector."""
        emit, lanes, vector = self.emit, self.lanes, self.found.vector
        self.row = {}
        for pairs in self.found.found.values():
            for value, _ in pairs:
                if not self.varies(value):
                    self.row[value] = Chunk(self, env, 0, 1, None).value(value)
        if vector is None:
            self._chunk(env, 0, 1, None)
            return
        first, last = self._span(vector)
        upto = emit.add(first, emit.round_down(emit.sub(last, first), lanes))
        if upto != first:
            with emit.loop(first, upto, lanes) as loop:
                self._chunk(env, loop.counter, lanes, None)
        left = emit.sub(last, upto)
        if isinstance(left, int) and left == 0:
            return
        if self.masked:
            with emit.when(emit.compare("sgt", left, 0)):
                self._chunk(env, upto, lanes, left)
            return
        with emit.loop(upto, last) as loop, emit.loop(0, self._repeats) as inner:
            env = {**env, vector + 1: inner.counter} if self._repeats > 1 else env
            self._chunk(env, loop.counter, 1, None)

    def _chunk(self, env: dict[int, Index], at: Index, lanes: int, live: Index | None) -> None:
        """Write some steps; of them only the first `live` are there."""
        emit = self.emit
        chunk = Chunk(self, env, at, lanes, live)
        guard = guard_of(self.flat.store, self.flat.nest.block.regions[0].blocks[0])
        if guard is not None:
            self._guarded(chunk, guard, lanes)
            return
        value = chunk.vector(chunk.value(self.flat.value))
        base, step = self.bases[self.flat.store], self.step(self.flat.store)
        if lanes == 1:
            emit.store(value, base, [chunk.place(self.flat.store)])
        elif step is not None and self._repeats == 1 and step[0] > 1:
            self._spaced(value, chunk.place(self.flat.store), step[0], live)
        elif step is None:
            where = [base, emit.index(0), chunk.places(self.flat.store), chunk.mask_or_all(), value]
            emit.op("vector.scatter", where)
        else:
            emit.vector_store(value, base, [chunk.place(self.flat.store)], chunk.mask())

    def _guarded(self, chunk: Chunk, branch: ir.Operation, lanes: int) -> None:
        """Write some steps of which only those store whose condition holds."""
        emit, store = self.emit, self.flat.store
        base, condition = self.bases[store], chunk.value(branch.operands[0])
        if lanes == 1:
            with emit.when(condition), chunk.scope():
                emit.store(chunk.value(self.flat.value), base, [chunk.place(store)])
            return
        with chunk.only_where(chunk.vector(condition)):
            value = chunk.vector(chunk.value(self.flat.value))
            emit.vector_store(value, base, [chunk.place(store)], chunk.mask())

    def _spaced(self, value: ir.Value, place: Index, step: int, live: Index | None) -> None:
        """Write lanes some elements apart; what is between them is not touched."""
        emit, lanes = self.emit, value.type.shape[0]
        wide = emit.shuffle(value, value, [i // step for i in range(lanes * step)])
        type_ = ir.VectorType.get([lanes * step], emit.bool_type)
        bits = [ir.BoolAttr.get(i % step == 0) for i in range(lanes * step)]
        mask = emit.constant_of(type_, ir.DenseElementsAttr.get(bits, type_))
        if live is not None:
            mask = emit.both(mask, emit.mask(emit.mul(live, step), lanes * step))
        emit.vector_store(wide, self.bases[self.flat.store], [place], mask)

    def step(self, op: ir.Operation) -> tuple[int, ...] | None:
        """Return how far apart lanes read, along the vector and its repeats; None for a gather."""
        strides, vector = self.flat.accesses[op].strides, self.found.vector
        if vector is None:
            return (0,)
        step = strides[vector].value
        if step is None or any(self.varies(value) for value, _ in self.found.found[op]):
            return None
        if self._repeats == 1:
            most = MOST_STEP if self.machine.can_mask(self.bits(op)) else 1
            return (step,) if -1 <= step <= most else None
        inner = strides[vector + 1].value
        return next((x for x in ((0, 0), (1, 0), (self._repeats, 1)) if x == (step, inner)), None)


def _width(value: ir.Value) -> int:
    return 64 if isinstance(value.type, ir.IndexType) else max(8, value.type.width)


def _bits(buffer: ir.Value) -> int:
    element = buffer.type.element_type
    return 64 if isinstance(element, ir.IndexType) else element.width


def _is_known(value: ir.Value) -> bool:
    number = constant_or_value(value)
    return isinstance(number, int) and number not in (0, -1)


def emit_index_map(found: IndexMap) -> Callable[[Emitter, Machine], None]:
    """Return what writes such a nest."""
    return lambda emit, machine: IndexMapWriter(found, emit, machine).write([])
