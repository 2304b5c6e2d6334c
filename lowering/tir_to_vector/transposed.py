"""Nests that read along one dimension and write along another, by square tiles in registers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.copy_order import reading_order
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.streaming import streams
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.transposed_ahead import Ahead
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, work_of

_ONE = SymExpr.const(1)
# Wider tiles would not fit the registers.
_MOST_LANES = 16
# Elements of a block, along each of its sides, where the caches hold what is written.
_BLOCK = 64
# Vectors that cross a line read two; from that many rows on, it pays to begin with whole lines.
_LEAST_ALIGNED = 128
_LINE = 64
# How much longer an element takes than a multiply-add of a contraction.
_ELEMENT = 16


def transposed_iters(flat: FlatNest) -> tuple[int, int] | str:
    """Return the iterators that the store and the loads walk along, or why there are none."""
    if flat.total is not None:
        return "it reduces over elements that are not adjacent"
    store = flat.accesses[flat.store]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    if _ONE not in store.strides:
        return "it does not write adjacent elements"
    along = store.strides.index(_ONE)
    crossing = [load for load in loads if load.strides[along] not in (0, 1)]
    others = {load.strides.index(_ONE) for load in crossing if _ONE in load.strides}
    if len(others) != 1 or any(_ONE not in load.strides for load in crossing):
        return "it reads elements that are not adjacent"
    return along, others.pop()


class TransposeWriter(NestWriter):
    """Writes a nest that transposes: tiles of vectors, and single elements at the edges."""

    def __init__(
        self, flat: FlatNest, along: tuple[int, int], emit: Emitter, machine: Machine
    ) -> None:
        super().__init__(flat, along[0], emit, machine)
        self.lanes = min(self.lanes, _MOST_LANES)
        self.along, self.across = along
        self.inner = set(along)
        self._tiles: dict[ir.Operation, list[ir.Value]] = {}
        self._row = 0

    def _maps(self, env: dict[int, Index], free: list[int]) -> None:
        if len(free) > 1 and reading_order(self, free) != free:
            super()._maps(env, free)
            return
        # Loops are the same for either case, and tiles ask themselves which it is.
        with ExitStack() as loops:
            self._map({**env, **self._outer_loops(loops, free)})

    def _map(self, env: dict[int, Index]) -> None:
        emit, lanes = self.emit, self.lanes
        columns = emit.size(self.flat.iters[self.along].extent)
        first, last = self._span(self.across)
        whole = emit.round_down(columns, lanes)
        upto = emit.add(first, emit.round_down(emit.sub(last, first), lanes))
        ends = (whole, (first, upto))
        far = streams(self)
        condition = self._past_cache(far)
        self.streamed |= condition is not False
        if isinstance(condition, ir.Value) and far is True:
            # Of sizes that are known only the alignment is asked for, best before all tiles.
            with emit.when(condition) as branch:
                self._tiles_of(env, *ends, far=True, past_cache=True)
            with emit.otherwise(branch):
                self._tiles_of(env, *ends, far=True, past_cache=False)
        else:
            self._tiles_of(env, *ends, far=far, past_cache=condition)
        if self.masked:
            self._edges(env, (whole, columns), (first, upto, last))
        else:
            self._single(env, (0, whole), (upto, last))
            self._single(env, (whole, columns), (first, last))

    def _past_cache(self, far: bool | ir.Value | None = None) -> bool | ir.Value:
        """Return whether stores should go past the cache, where all of them are aligned.

        Args:
            far: what `streams` says, where it was asked before.
        """
        emit, store = self.emit, self.flat.accesses[self.flat.store]
        condition = streams(self) if far is None else far
        if condition is False or self.past_cache is not None:
            return condition
        rows = [emit.size(s) for i, s in enumerate(store.strides) if i != self.along]
        if any(isinstance(stride, int) and stride % self.lanes for stride in rows):
            return False
        base = self.bases[self.flat.store]
        size = self.bits(self.flat.store) // 8
        address = emit.op("memref.extract_aligned_pointer_as_index", [base], emit.index_type)
        units = [emit.div(address, size), emit.size(store.offset), *rows]
        odd: Index = 0
        for unit in units:
            odd = self._or(odd, unit)
        aligned = emit.compare("eq", self._rest(odd), 0)
        return aligned if condition is True else emit.both(condition, aligned)

    def _tiles_of(
        self, env: dict[int, Index], whole: Index, rows: tuple[Index, Index], *,
        far: bool | ir.Value, past_cache: bool | ir.Value,
    ) -> None:  # fmt: skip
        """Write the tiles that are full.

        Args:
            env: counters of the outer iterators.
            whole: where the tiles of a row of the result end.
            rows: range of its rows.
            far: whether the nest goes beyond the cache, for which blocks are chosen.
            past_cache: whether stores go past it, which not all that is far may do.
        """
        emit, lanes = self.emit, self.lanes
        start = self._aligned_start(env, *rows)
        read = self.bits(next(op for op in self.flat.slice if self._reads_across(op))) // 8
        ahead = Ahead(self, env, read, (start, rows[1])) if far is not False else None
        run, size = (ahead.run, ahead.size) if ahead else (_BLOCK, _BLOCK)
        if isinstance(far, ir.Value):
            run, size = (emit.select(far, emit.index(n), emit.index(_BLOCK)) for n in (run, size))
        with ExitStack() as loops:
            right = loops.enter_context(self._blocks(0, whole, run))
            down = loops.enter_context(self._blocks(start, rows[1], size))
            if ahead:
                ahead.begin(right, down)
            y: Index = loops.enter_context(emit.loop(*down, lanes)).counter
            x = loops.enter_context(emit.loop(*right, lanes)).counter
            if ahead:
                with emit.when(far) if far is not True else nullcontext():
                    for op in filter(self._reads_across, self.flat.accesses):
                        ahead.fetch(op, x, y)
            if start is not rows[0]:
                y = emit.max(emit.min(y, emit.sub(rows[1], lanes)), rows[0])
            self._tile(env, x, y, past_cache=past_cache)

    def _aligned_start(self, env: dict[int, Index], first: Index, upto: Index) -> Index:
        """Return where tiles begin so that none shares the lines it reads with the next one.

        That is up to a tile before the first row, whose tile is moved to it, as the last one is
        moved back: what two tiles write twice is the same, for nothing reads what is written.
        """
        emit, lanes = self.emit, self.lanes
        loads = [op for op in self.flat.accesses if op.name == "memref.load"]
        source = next(filter(self._reads_across, loads))
        strides = [self.flat.accesses[op].strides for op in loads if not self._crosses(op)]
        size = self.bits(source) // 8
        if size * lanes < _LINE or any(0 not in (s[self.along], s[self.across]) for s in strides):
            return first
        odd: Index = 0
        for i, stride in enumerate(self.flat.accesses[source].strides):
            if i != self.across:
                odd = self._or(odd, emit.size(stride))
        count = emit.sub(upto, first)
        if (isinstance(odd, int) and odd % lanes) or (
            isinstance(count, int) and count < _LEAST_ALIGNED
        ):
            return first
        place, _ = self._address(source, {**env, self.across: first, self.along: 0}, 0)
        pointer = "memref.extract_aligned_pointer_as_index"
        address = emit.op(pointer, [self.bases[source]], emit.index_type)
        past = self._rest(emit.add(emit.div(address, size), place))
        if not isinstance(count, int):
            long = emit.compare("sge", count, _LEAST_ALIGNED)
            past = emit.select(long, past, emit.index(0))
        if not isinstance(odd, int):
            even = emit.compare("eq", self._rest(odd), 0)
            past = emit.select(even, past, emit.index(0))
        return emit.sub(first, past)

    def _rest(self, number: Index) -> ir.Value:
        """Return a number modulo the lanes."""
        emit = self.emit
        values = [emit.index(number), emit.index(self.lanes - 1)]
        return emit.op("arith.andi", values, emit.index_type)

    def _or(self, a: Index, b: Index) -> Index:
        if isinstance(a, int) and isinstance(b, int):
            return a | b
        values = [self.emit.index(a), self.emit.index(b)]
        return self.emit.op("arith.ori", values, self.emit.index_type)

    def _reads_across(self, op: ir.Operation) -> bool:
        return op.name == "memref.load" and self._crosses(op)

    def _crosses(self, op: ir.Operation) -> bool:
        return self.flat.accesses[op].strides[self.along] not in (0, 1)

    def _edges(
        self, env: dict[int, Index], right: tuple[Index, Index], down: tuple[Index, Index, Index]
    ) -> None:  # fmt: skip
        """Write the tiles that are not full, to the right and below, by one loop for both."""
        emit, lanes = self.emit, self.lanes
        (whole, columns), (first, upto, last) = right, down
        edge = (columns, last)
        if upto == last:
            if whole != columns:
                with emit.loop(first, upto, lanes) as loop:
                    self._tile(env, whole, loop.counter, edge=edge)
            return
        if whole == columns:
            # A thread that has no rows has none to read from either.
            with emit.loop(0, self._if_any(upto, last, columns), lanes) as loop:
                self._tile(env, loop.counter, upto, edge=edge)
            return
        # First those to the right, one below another; then those below, from left to right.
        beside = emit.sub(upto, first)
        beside = self._if_any(whole, columns, beside)
        below = self._if_any(upto, last, columns)
        with emit.loop(0, emit.add(beside, below), lanes) as loop:
            at = loop.counter
            is_beside = emit.compare("slt", at, beside)
            column = emit.select(is_beside, emit.index(whole), emit.index(emit.sub(at, beside)))
            row = emit.select(is_beside, emit.index(emit.add(first, at)), emit.index(upto))
            self._tile(env, column, row, edge=edge)

    def _if_any(self, first: Index, last: Index, count: Index) -> Index:
        """Return a count where a range is not empty, else 0."""
        if isinstance(first, int) and isinstance(last, int):
            return count if first < last else 0
        emit = self.emit
        return emit.select(emit.compare("slt", first, last), emit.index(count), emit.index(0))

    @contextmanager
    def _blocks(
        self, first: Index, last: Index, size: Index
    ) -> Iterator[tuple[Index, Index]]:  # fmt: skip
        """Write a loop over blocks of some elements; yields the range of one."""
        known = [x for x in (first, last, size) if isinstance(x, int)]
        if len(known) == 3 and known[1] - known[0] <= known[2]:
            yield first, last
            return
        with self.emit.loop(first, last, size) as loop:
            yield loop.counter, self.emit.min(self.emit.add(loop.counter, size), last)

    def _work(self) -> Index:
        return work_of(self.emit, self.flat, _ELEMENT)

    def _split_inside(self) -> list[int]:
        return [self.across]

    def _part(self, position: int, is_outer: bool) -> Part:
        # A tile is work enough: what has few channels would all go to one thread.
        return replace(super()._part(position, is_outer), unit=1 if is_outer else self.lanes)

    def _tile(
        self, env: dict[int, Index], column: Index, row: Index, *,
        past_cache: bool | ir.Value = False, edge: tuple[Index, Index] | None = None,
    ) -> None:  # fmt: skip
        """Write a square of elements; with an edge only what lies before those ends."""
        emit, lanes = self.emit, self.lanes
        masks: dict[str, list[ir.Value]] = {}
        if edge is not None:
            across, down = (emit.sub(end, at) for end, at in zip(edge, (column, row), strict=True))
            masks = {"load": self._masks(across, down), "store": self._masks(down, across)}
        self._tiles = {}
        for op in self.flat.accesses:
            if not self._reads_across(op):
                continue
            base = self.bases[op]
            type_ = ir.VectorType.get([lanes], base.type.element_type)
            vectors = []
            for lane in range(lanes):
                where = {**env, self.across: row, self.along: emit.add(column, lane)}
                place, _ = self._address(op, where, 0)
                mask = masks["load"][lane] if masks else None
                vectors.append(emit.vector_load(base, [place], type_, mask))
            self._tiles[op] = transpose(emit, vectors)
        puts: list[tuple[ir.Value, dict[int, Index], Index, ir.Value | None]] = []
        for self._row in range(lanes):
            at = emit.add(row, self._row)
            # No mask keeps a row beyond the end from reading what all of its elements take.
            inner = {**env, self.across: emit.min(at, emit.sub(edge[1], 1)) if edge else at}
            mask = masks["store"][self._row] if masks else None
            puts.append((self._value(inner, column, lanes, mask), inner, column, mask))
            if isinstance(past_cache, bool):
                self._put(*puts.pop(), past_cache)
        self._tiles = {}
        if puts:
            with emit.when(past_cache) as branch:
                for put in puts:
                    self._put(*put, True)
            with emit.otherwise(branch):
                for put in puts:
                    self._put(*put, False)

    def _masks(self, count: Index, live: Index) -> list[ir.Value]:
        """Return masks of vectors, of which the first `count` have `live` lanes."""
        emit, lanes = self.emit, self.lanes
        whole = emit.mask(live, lanes)
        none = emit.constant(whole.type, 0)
        if isinstance(count, int):
            return [whole if lane < count else none for lane in range(lanes)]
        return [emit.select(emit.compare("sgt", count, lane), whole, none) for lane in range(lanes)]

    def _single(
        self, env: dict[int, Index], columns: tuple[Index, Index], rows: tuple[Index, Index]
    ) -> None:
        emit = self.emit
        if columns[0] == columns[1] or rows[0] == rows[1]:
            return
        with emit.loop(*rows) as down, emit.loop(*columns) as right:
            inner = {**env, self.across: down.counter}
            self._put(self._value(inner, right.counter, 1, None), inner, right.counter, None)

    def _get(
        self, op: ir.Operation, env: dict[int, Index], at: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        if op in self._tiles:
            return self._tiles[op][self._row]
        if self._crosses(op):
            env = {**env, self.along: at}
        return super()._get(op, env, at, lanes, mask)


def transpose(emit: Emitter, vectors: list[ir.Value]) -> list[ir.Value]:
    """Return the columns of a square of vectors, swapping blocks off the diagonal, size by size."""
    lanes = len(vectors)
    width = 1
    while width < lanes:
        low = [i if not i & width else lanes + i - width for i in range(lanes)]
        high = [i + width if not i & width else lanes + i for i in range(lanes)]
        result = list(vectors)
        for i in range(lanes):
            if not i & width:
                pair = (vectors[i], vectors[i + width])
                result[i] = emit.shuffle(*pair, low)
                result[i + width] = emit.shuffle(*pair, high)
        vectors = result
        width *= 2
    return vectors
