"""Vector code of maps whose lanes have places of their own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.analysis import (
    BRANCH,
    DIVIDES,
    guard_of,
    is_within,
    operations,
    result_of,
)
from relax_mlir.lowering.tir_to_vector.data_movement.index_map import (
    IndexMap,
    Varying,
    match_branches,
    match_index_map,
)
from relax_mlir.lowering.tir_to_vector.data_movement.transposed import transposed_iters
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index, constant_or_value
from relax_mlir.lowering.tir_to_vector.kernel_class import Final, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes, work_of
from relax_mlir.lowering.tir_to_vector.shuffles import MAX_STEP, load_backwards, load_stepped
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter

# Places need a register for every eight lanes.
_MAX_LANES = 16
# The cost of an element, in FMAs.
_ELEMENT = 24
# What makes an index of a number that was loaded.
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")


class IndexMapWriter(NestWriter):
    """Writes an index map: a value is a scalar if all lanes share it, else a vector."""

    index_map: IndexMap
    masks_strided = True
    is_plain = False

    def __init__(self, index_map: IndexMap, emit: Emitter) -> None:
        machine = emit.machine
        bits = [_bits(access.buffer) for access in index_map.flat.accesses.values()]
        self.has_gather: bool = machine.gathers and min(bits) >= 32
        varies, store, vector = Varying(index_map), index_map.flat.store, index_map.vector
        scattered = any(varies(value) for value, _ in index_map.nonlinear[store])
        strides = index_map.flat.accesses[store].strides
        spaced = vector is not None and index_map.repeats == 1 and strides[vector] != 1
        if (
            (scattered and not self.has_gather)
            or (spaced and not machine.can_mask(_bits(index_map.flat.written)))
            or (index_map.branches and not machine.can_mask(min(bits)))
        ):
            index_map = replace(index_map, vector=None)
        super().__init__(index_map.flat, index_map.vector, emit)
        self.index_map, self._repeats = index_map, index_map.repeats
        self.inner: set[int] = index_map.inner | set(index_map.ordered)
        self.varies: Varying = Varying(index_map)
        body = [op for top in index_map.flat.nest.body() for op in operations(top)]
        # What all lanes share is no vector, however wide: bounds of windows, say.
        values = [op.results[0] for op in index_map.flat.slice if self.varies(op.results[0])]
        widest = max(_width(value) for value in (*values, index_map.flat.store.operands[0]))
        self.lanes = max(1, machine.vector_bits // widest)
        if any(op.name in DIVIDES and not _is_known(op.operands[1]) for op in body):
            self.masked = False
        if not self.has_gather and any(self.is_looked_up(op) for op in index_map.nonlinear):
            self.masked: bool = False
        if any(self.varies(value) for pairs in index_map.nonlinear.values() for value, _ in pairs):
            self.lanes: int = min(self.lanes, _MAX_LANES)
        self.row: dict[ir.Value, ir.Value] = {}

    def is_looked_up(self, op: ir.Operation) -> bool:
        """Whether the last vector of an access is a gather."""
        step = self.step(op)
        if op == self.flat.store and step is not None:
            return False
        return step is None or (self._repeats == 1 and step[0] not in (-1, 0, 1))

    def _work(self) -> Index:
        return work_of(self.emit, self.flat, _ELEMENT)

    def _split_inside(self) -> list[int]:
        return [] if self.index_map.vector is None else [self.index_map.vector]

    def _is_non_temporal(self) -> bool:
        return False

    def _map(self, env: dict[int, Index]) -> None:
        with ExitStack() as loops:
            for position in self.index_map.ordered:
                extent = self.emit.size(self.flat.iters[position].extent)
                env[position] = loops.enter_context(self.emit.loop(0, extent)).counter
            self._along(env)

    def _along(self, env: dict[int, Index]) -> None:
        """Write the steps of the vector."""
        emit, lanes, vector = self.emit, self.lanes, self.index_map.vector
        self.row = {}
        for pairs in self.index_map.nonlinear.values():
            for value, _ in pairs:
                if not self.varies(value):
                    self.row[value] = Chunk(self, env, 0, 1, None).value(value)
        if vector is None:
            self._chunk(env, 0, 1, None)
            return
        first, last = self._span(vector)
        upto = first + emit.round_down(last - first, lanes)
        if upto != first:
            with emit.loop(first, upto, lanes) as loop:
                self._chunk(env, loop.counter, lanes, None)
        left = last - upto
        if left == 0:
            return
        if self.masked:
            emit.if_any(left, lambda: self._chunk(env, upto, lanes, left))
            return
        with emit.loop(upto, last) as loop, emit.loop(0, self._repeats) as inner:
            env = {**env, vector + 1: inner.counter} if self._repeats > 1 else env
            self._chunk(env, loop.counter, 1, None)

    def _chunk(self, env: dict[int, Index], at: Index, lanes: int, live: Index | None) -> None:
        """Write some steps, of which the first `live` exist."""
        emit = self.emit
        chunk = Chunk(self, env, at, lanes, live)
        guard = guard_of(self.flat.store, self.flat.nest.block.regions[0].blocks[0])
        if guard is not None:
            self._guarded(chunk, guard, lanes)
            return
        step = self.step(self.flat.store)
        if lanes == 1 or (step is not None and not (self._repeats == 1 and step[0] > 1)):
            chunk.store()
            return
        value = chunk.vector(chunk.value(self.flat.value))
        if step is None:
            places, mask = chunk.places(self.flat.store), chunk.mask_or_all()
            where = [self.bases[self.flat.store], emit.index(0), places, mask, value]
            emit.effect("vector.scatter", where)
        else:
            self._spaced(value, chunk.place(self.flat.store), step[0], live)

    def _guarded(self, chunk: "Chunk", branch: ir.Operation, lanes: int) -> None:
        """Write some steps, with a mask of those whose condition holds."""
        condition = chunk.value(branch.operands[0])
        if lanes == 1:
            with self.emit.when(condition), chunk.scope():
                chunk.store()
            return
        with chunk.only_where(chunk.vector(condition)):
            chunk.store()

    def _spaced(self, value: ir.Value, place: Index, step: int, live: Index | None) -> None:
        """Store strided lanes."""
        emit, lanes = self.emit, value.type.shape[0]
        wide = emit.shuffle(value, value, [i // step for i in range(lanes * step)])
        type_ = ir.VectorType.get([lanes * step], emit.bool_type)
        mask = emit.numbers(type_, [i % step == 0 for i in range(lanes * step)])
        if live is not None:
            mask = emit.both(mask, emit.mask(live * step, lanes * step))
        emit.vector_store(wide, self.bases[self.flat.store], [place], mask)

    def step(self, op: ir.Operation) -> tuple[int, ...] | None:
        """Return the strides of lanes, along the vector and its repeats; None for a gather."""
        strides, vector = self.flat.accesses[op].strides, self.index_map.vector
        if vector is None:
            return (0,)
        step = strides[vector].value
        if step is None or any(self.varies(value) for value, _ in self.index_map.nonlinear[op]):
            return None
        if self._repeats == 1:
            most = MAX_STEP if self.machine.can_mask(self.bits(op)) else 1
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


class Chunk:
    """Computes the values of some steps: `lanes` along the vector, each with its repeats.

    Args:
        at: the first step.
        lanes: their number; 1 for a scalar.
        live: how many of them exist, None for all.
    """

    def __init__(
        self, writer: "IndexMapWriter", env: dict[int, Index], at: Index, lanes: int,
        live: Index | None,
    ) -> None:  # fmt: skip
        self._writer, self._emit, self._index_map = writer, writer.emit, writer.index_map
        self._env, self._at, self._lanes, self._live = env, at, lanes, live
        self._each = 1 if lanes == 1 else self._index_map.repeats
        self._width = lanes * self._each
        self._made = dict(writer.row)
        self._body = self._index_map.flat.nest.block.regions[0].blocks[0]
        self._counters = dict(env)
        self._guard: ir.Value | None = None
        if self._index_map.vector is not None:
            self._counters[self._index_map.vector] = at

    def mask(self, per: int = 1) -> ir.Value | None:
        """Return the mask of lanes; with `per` of 0, without repeats."""
        if self._live is None:
            return self._guard
        each = self._each if per else 1
        mask = self._emit.mask(self._live * each, self._lanes * each)
        return mask if self._guard is None else self._emit.both(mask, self._guard)

    def mask_or_all(self) -> ir.Value:
        """Return the mask of lanes, also if all exist."""
        type_ = ir.VectorType.get([self._width], self._emit.bool_type)
        return self.mask() or self._emit.constant(type_, 1)

    def store(self, value: ir.Value | None = None) -> None:
        """Store adjacent lanes of the nest's value, or of another one."""
        flat, emit = self._index_map.flat, self._emit
        made = self.vector(self.value(flat.value) if value is None else value)
        base, place = self._writer.bases[flat.store], self.place(flat.store)
        if self._lanes == 1:
            emit.store(made, base, [place])
        else:
            emit.vector_store(made, base, [place], self.mask())

    def vector(self, value: ir.Value) -> ir.Value:
        """Return a value as a vector of all lanes, where there are several."""
        if self._lanes == 1 or isinstance(value.type, ir.VectorType):
            return value
        return self._emit.splat(value, ir.VectorType.get([self._width], value.type))

    def value(self, value: ir.Value) -> ir.Value:
        """Return a value of the block, a scalar if all lanes share it."""
        if value not in self._made:
            # What stands before a branch is computed whether that is taken or not.
            outer = isinstance(value.owner, ir.Block) or value.owner.operation.block == self._body
            guard, self._guard = self._guard, None if outer else self._guard
            made = self._make(value)
            self._guard, self._made[value] = guard, made
        return self._made[value]

    @contextmanager
    def only_where(self, condition: ir.Value) -> Iterator[None]:
        """Load and store only in lanes whose condition holds too."""
        before = self._guard
        self._guard = condition if before is None else self._emit.both(before, condition)
        yield
        self._guard = before

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end the values of a region."""
        before, self._made = self._made, dict(self._made)
        yield
        self._made = before

    def _branch(self, op: ir.Operation) -> ir.Value:
        """Return a branch's value; of both sides if lanes differ."""
        emit = self._emit
        condition = self.value(op.operands[0])

        def side(number: int) -> ir.Value:
            return self.vector(self.value(result_of(op, number)))

        def alone(number: int) -> list[ir.Value]:
            with self.scope():
                return [side(number)]

        if not isinstance(condition.type, ir.VectorType):
            type_ = Lanes({}, 0, self._width).typed(op.results[0].type)
            (made,) = emit.either(condition, [type_], lambda: alone(0), lambda: alone(1))
            return made
        sides = []
        for number in range(2):
            with self.only_where(emit.negated(condition) if number else condition):
                sides.append(side(number))
        return emit.select(condition, *sides)

    def _make(self, value: ir.Value) -> ir.Value:
        writer = self._writer
        if value in writer.index_map.space.terms:
            return self._argument(value)
        if isinstance(value.owner, ir.Block):
            return value
        op = value.owner.operation
        if not is_within(op, self._body):
            return writer._anew(value)
        if op.name == BRANCH:
            return self._branch(op)
        if op in self._index_map.nonlinear:
            return self._load(op)
        operands = [self.value(operand) for operand in op.operands]
        if any(isinstance(each.type, ir.VectorType) for each in operands):
            operands = [self.vector(operand) for operand in operands]
        return self._emit.copied(op, operands)

    def _argument(self, value: ir.Value) -> ir.Value:
        emit, index_map = self._emit, self._index_map
        terms = self._writer.index_map.space.terms[value]
        result = emit.index(
            sum(self._counters.get(i, 0) * emit.size(factor) for i, factor in terms.items())
        )
        if self._lanes == 1 or not self._writer.varies(value):
            return result
        assert index_map.vector is not None  # or nothing would vary
        by = [terms.get(i) for i in (index_map.vector, index_map.vector + 1)]
        outer, inner = (0 if factor is None else factor.value for factor in by)
        return self._spread(result, outer, (inner or 0) if self._each > 1 else 0)

    def _spread(self, first: Index, outer: Index, inner: Index) -> ir.Value:
        """Return places with strides along the vector and its repeats."""
        emit, each = self._emit, self._each
        type_ = ir.VectorType.get([self._width], emit.index_type)
        result = emit.splat(emit.index(first), type_)
        for step, number in ((outer, lambda i: i // each), (inner, lambda i: i % each)):
            if step == 0:
                continue
            known = step if isinstance(step, int) else 1
            by = emit.numbers(type_, [number(i) * known for i in range(self._width)])
            if not isinstance(step, int):
                by = emit.op("arith.muli", [by, emit.splat(step, type_)], type_)
            result = emit.op("arith.addi", [result, by], type_)
        return result

    def place(self, op: ir.Operation) -> Index:
        """Return the place of the first lane of an access, without what differs between lanes."""
        emit, access = self._emit, self._index_map.flat.accesses[op]
        steps = (at * emit.size(access.strides[i]) for i, at in self._counters.items())
        place = sum(steps, emit.size(access.offset))
        for value, stride in self._index_map.nonlinear.get(op, ()):
            if self._lanes == 1 or not self._writer.varies(value):
                place = emit.add(place, emit.mul(self.value(value), emit.size(stride)))
        return place

    def _load(self, op: ir.Operation) -> ir.Value:
        emit, writer = self._emit, self._writer
        base, place = writer.bases[op], self.place(op)
        if self._lanes == 1 or not writer.varies(op.results[0]):
            return self._one(base, place)
        step = writer.step(op)
        if self._guard is not None and step not in ((1,), (-1,)):
            return self._gather(op, base)
        if step is None or (self._live is not None and writer.is_looked_up(op)):
            return self._gather(op, base)
        element = base.type.element_type
        if step in ((1,), (self._each, 1)):
            return emit.vector_load(
                base, [place], ir.VectorType.get([self._width], element), self.mask()
            )
        type_ = ir.VectorType.get([self._lanes], element)
        if self._each > 1:
            few = emit.vector_load(base, [place], type_, self.mask(0))
            return emit.shuffle(few, few, [i // self._each for i in range(self._width)])
        if step == (-1,):
            return load_backwards(emit, base, place, type_, self.mask())
        return load_stepped(emit, base, place, type_, step[0])

    def _one(self, base: ir.Value, place: Index) -> ir.Value:
        """Load a scalar that all lanes share, if any lane exists."""
        emit = self._emit
        if self._guard is None or self._lanes == 1:
            return emit.load(base, [place])
        return emit.load_if_any(base, [place], self._guard)

    def places(self, op: ir.Operation) -> ir.Value:
        """Return the place of each lane of an access."""
        emit, writer, vector = self._emit, self._writer, self._index_map.vector
        strides = self._index_map.flat.accesses[op].strides
        assert vector is not None  # or there are no lanes
        inner = emit.size(strides[vector + 1]) if self._each > 1 else 0
        places = self._spread(self.place(op), emit.size(strides[vector]), inner)
        for value, stride in self._index_map.nonlinear[op]:
            if writer.varies(value):
                index = self.vector(self.value(value))
                step = emit.size(stride)
                if step != 1:
                    by = emit.splat(emit.index(step), index.type)
                    index = emit.op("arith.muli", [index, by], index.type)
                places = emit.op("arith.addi", [places, index], index.type)
        return places

    def _gather(self, op: ir.Operation, base: ir.Value) -> ir.Value:
        emit = self._emit
        type_ = ir.VectorType.get([self._width], base.type.element_type)
        if self._guard is None and not self._writer.has_gather:
            return self._one_by_one(op, type_)
        places = self.places(op)
        where = [base, emit.index(0), places, self.mask_or_all(), emit.constant(type_, 0)]
        return emit.op("vector.gather", where, type_)

    def _one_by_one(self, op: ir.Operation, type_: ir.VectorType) -> ir.Value:
        """Load each lane; its place comes from memory or from a vector."""
        emit, writer, lanes = self._emit, self._writer, range(self._width)
        if self._each == 1 and all(_is_read(value) for value, _ in self._index_map.nonlinear[op]):
            chunks = [Chunk(writer, self._env, self._at + lane, 1, None) for lane in lanes]
            singles = [chunk.value(op.results[0]) for chunk in chunks]
        else:
            places = self.places(op)
            singles = [emit.load(writer.bases[op], [emit.extract(places, i)]) for i in lanes]
        result = emit.constant(type_, 0)
        for lane, single in enumerate(singles):
            result = emit.insert(single, result, lane)
        return result


def _is_read(index: ir.Value) -> bool:
    """Whether an index is loaded, and at most cast."""
    while not isinstance(index.owner, ir.Block) and index.owner.operation.name in _CASTS:
        index = index.owner.operation.operands[0]
    return isinstance(index.owner, ir.Block) or index.owner.operation.name == "memref.load"


def _match_first(nests: Nests) -> IndexMap | str:
    flat = nests.merged
    if isinstance(flat, str) or flat.total is None:
        index_map = match_index_map(nests.nest, runs=isinstance(nests.flat, str))
        if isinstance(index_map, IndexMap):
            return index_map
    return flat if isinstance(flat, str) else str(transposed_iters(flat))


def _match_branches(nests: Nests) -> IndexMap | str:
    if not isinstance(nests.first, str):
        return "it has no branches"
    nest = nests.opened
    index_map = nests.first if isinstance(nest, str) else match_branches(nest)
    return Final(index_map) if isinstance(index_map, str) else index_map


def _write(index_map: IndexMap, emit: Emitter) -> None:
    IndexMapWriter(index_map, emit).write([])


INDEX_MAP = one_nest("index map", _match_first, _write)
BRANCHES = one_nest("map with branches", _match_branches, _write)
