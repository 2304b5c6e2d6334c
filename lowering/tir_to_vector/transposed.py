"""Nests that read along one dimension and write along another, by square tiles in registers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.streaming import streams
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, work_of

_ONE = SymExpr.const(1)
# Wider tiles would not fit the registers.
_MOST_LANES = 16
# Tiles of a block, along each of its sides.
_TILES = 4
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

    def _map(self, env: dict[int, Index]) -> None:
        emit, lanes = self.emit, self.lanes
        columns = emit.size(self.flat.iters[self.along].extent)
        first, last = self._span(self.across)
        whole = emit.round_down(columns, lanes)
        upto = emit.add(first, emit.round_down(emit.sub(last, first), lanes))
        ends = (whole, (first, upto))
        condition = self._past_cache()
        if condition is False:
            self._tiles_of(env, *ends, past_cache=False)
        else:
            self.streamed = True
            with emit.when(condition) as branch:
                self._tiles_of(env, *ends, past_cache=True)
            with emit.otherwise(branch):
                self._tiles_of(env, *ends, past_cache=False)
        if self.masked:
            self._edges(env, (whole, columns), (first, upto, last))
        else:
            self._single(env, (0, whole), (upto, last))
            self._single(env, (whole, columns), (first, last))

    def _past_cache(self) -> bool | ir.Value:
        """Return whether stores should go past the cache, where all of them are aligned."""
        emit, store = self.emit, self.flat.accesses[self.flat.store]
        condition = streams(self)
        if condition is False:
            return False
        base = self.bases[self.flat.store]
        size = self.bits(self.flat.store) // 8
        address = emit.op("memref.extract_aligned_pointer_as_index", [base], emit.index_type)
        units = [emit.div(address, size), emit.size(store.offset)]
        units += [emit.size(s) for i, s in enumerate(store.strides) if i != self.along]
        odd: Index = 0
        for unit in units:
            if isinstance(unit, int):
                odd = odd if isinstance(odd, ir.Value) else odd | unit
            else:
                odd = emit.op("arith.ori", [emit.index(odd), unit], emit.index_type)
        last = emit.index(self.lanes - 1)
        odd = emit.op("arith.andi", [emit.index(odd), last], emit.index_type)
        aligned = emit.compare("eq", odd, 0)
        return aligned if condition is True else emit.both(condition, aligned)

    def _tiles_of(
        self, env: dict[int, Index], whole: Index, rows: tuple[Index, Index], *, past_cache: bool
    ) -> None:  # fmt: skip
        """Write the tiles that are full."""
        emit, lanes = self.emit, self.lanes
        with ExitStack() as loops:
            right = loops.enter_context(self._blocks(0, whole))
            down = loops.enter_context(self._blocks(*rows))
            x = loops.enter_context(emit.loop(*right, lanes)).counter
            y = loops.enter_context(emit.loop(*down, lanes)).counter
            self._tile(env, x, y, past_cache=past_cache)

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
            with emit.loop(0, columns, lanes) as loop:
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
    def _blocks(self, first: Index, last: Index) -> Iterator[tuple[Index, Index]]:
        """Write a loop over blocks whose lines stay in the cache; yields the range of one."""
        size = self.lanes * _TILES
        if isinstance(first, int) and isinstance(last, int) and last - first <= size:
            yield first, last
            return
        with self.emit.loop(first, last, size) as loop:
            yield loop.counter, self.emit.min(self.emit.add(loop.counter, size), last)

    def _work(self) -> Index:
        return work_of(self.emit, self.flat, _ELEMENT)

    def _split_inside(self) -> list[int]:
        return [self.across]

    def _tile(
        self, env: dict[int, Index], column: Index, row: Index, *, past_cache: bool = False,
        edge: tuple[Index, Index] | None = None,
    ) -> None:  # fmt: skip
        """Write a square of elements; with an edge only what lies before those ends."""
        emit, lanes = self.emit, self.lanes
        masks: dict[str, list[ir.Value]] = {}
        if edge is not None:
            across, down = (emit.sub(end, at) for end, at in zip(edge, (column, row), strict=True))
            masks = {"load": self._masks(across, down), "store": self._masks(down, across)}
        self._tiles = {}
        for op, access in self.flat.accesses.items():
            if op.name != "memref.load" or access.strides[self.along] in (0, 1):
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
        for self._row in range(lanes):
            inner = {**env, self.across: emit.add(row, self._row)}
            mask = masks["store"][self._row] if masks else None
            value = self._value(inner, column, lanes, mask)
            self._put(value, inner, column, mask, past_cache)
        self._tiles = {}

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
        if self.flat.accesses[op].strides[self.along] not in (0, 1):
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
