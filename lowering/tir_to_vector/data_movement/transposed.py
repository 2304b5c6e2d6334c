"""Transposes: nests that read along one axis and write along another, by register transposes."""

import functools
import operator
from collections.abc import Iterator
from contextlib import ExitStack
from copy import copy
from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.kernel_class import NestForm, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.nest_cost import bits_of, transpose_cycles
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes, work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.shuffles import join, transpose_tile
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, reading_order, streams

_ONE = SymExpr.const(1)
# The maximal height of a tile. LLVM takes long for wide tiles: for two dynamic sizes, bytes fill
# half a register.
_MAX_HEIGHT, _MAX_LANES = 16, 64
# Elements of a side of a block, if the result is in cache.
_BLOCK = 64
# Rows from which on aligning vectors with cache lines pays.
_MIN_ALIGNED = 128
_LINE = 64
# Cache lines of each row of a block: adjacent lines are fastest.
_LINES = 16
# How many lines ahead each row of a block is prefetched, into L2; L1 has no room for a block. See
# "Data movement" in benchmarks/README.md.
_AHEAD = 4
# Rows of a block, at least two vectors: with strides of a power of two, more rows would conflict in
# L2 sets. Plain stores are faster with more rows.
_ROWS, _ROWS_PLAIN = 48, 64
# The cost of an element, in FMAs.
_ELEMENT = 16
# Rows at a dynamic distance that registers hold the multiples of. Zen 4, `benchmarks/compare.py
# --dynamic --only ^transpose`: 16 rows one after another are 1.06 times as fast, 8 rows 0.98.
_MAX_MULTIPLES = 8


def transposed_iters(flat: FlatNest) -> tuple[int, int] | str:
    """Return the iterators along which the store and the loads are adjacent, or why not."""
    if flat.total is not None:
        return "it reduces over elements that are not adjacent"
    store = flat.accesses[flat.store]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    if _ONE not in store.strides:
        return "it does not write adjacent elements"
    along = store.strides.index(_ONE)
    strided = [load for load in loads if load.strides[along] not in (0, 1)]
    others = {load.strides.index(_ONE) for load in strided if _ONE in load.strides}
    if len(others) != 1 or any(_ONE not in load.strides for load in strided):
        return "it reads elements that are not adjacent"
    return along, others.pop()


class TransposeWriter(NestWriter):
    """Writes a transpose: register tiles, and single elements at the edges.

    A tile is `lanes` of the loads by `height` of the store, so that a register holds a row of the
    result. Small elements share registers.
    """

    along: int
    across: int
    masks_strided = True
    is_plain = False

    def __init__(self, flat: FlatNest, along: tuple[int, int], emit: Emitter) -> None:
        super().__init__(flat, along[0], emit)
        known = all(it.extent.value is not None for it in flat.iters)
        most = _MAX_LANES if known else _MAX_LANES // 2
        self.lanes: int = min(self.lanes, most if emit.isa.tables else _MAX_HEIGHT)
        # Of the squares that are transposed; they fit registers.
        self._side: int = min(self.lanes, _MAX_HEIGHT)
        self.height: int = self._side
        self._near = self.lanes, self.height
        self._far = streams(self)
        if self._far is not False:
            # Non-temporal stores fill whole lines, and lines are read once.
            line = 8 * _LINE // self.bits(flat.store)
            self.lanes = max(self.lanes, line)
            self.height = max(self.height, min(line, _MAX_HEIGHT))
        self.along, self.across = along
        self.inner: set[int] = set(along)
        self._tiles: dict[ir.Operation, list[ir.Value]] = {}
        self._written: Index | None = None
        self._row = 0

    def _maps(self, env: dict[int, Index], free: list[int]) -> None:
        if len(free) > 1 and reading_order(self, free) != free:
            super()._maps(env, free)
            return
        # The loops are the same in both cases; tiles have the branch.
        with ExitStack() as loops:
            self._map({**env, **self._outer_loops(loops, free)})

    def _map(self, env: dict[int, Index]) -> None:
        emit, lanes = self.emit, self.lanes
        columns = emit.size(self.flat.iters[self.along].extent)
        first, last = self._span(self.across)
        whole = emit.round_down(columns, lanes)
        upto = first + emit.round_down(last - first, self.height)
        ends = (whole, (first, upto))
        far, condition = self._is_far, self._is_non_temporal()
        self.streamed |= condition is not False
        # One test for all tiles.
        emit.choose(
            condition,
            lambda: self._tiles_of(env, *ends, far=True, non_temporal=True),
            lambda: self._plain_tiles(env, *ends, far=far),
        )
        if self.masked:
            self._edges(env, (whole, columns), (first, upto, last))
        else:
            self._single(env, (0, whole), (upto, last))
            self._single(env, (whole, columns), (first, last))

    def _plain_tiles(
        self, env: dict[int, Index], whole: Index, rows: Span, *, far: bool | ir.Value
    ) -> None:
        """Write the whole tiles of rows with plain stores; tiles of what is near fit registers."""
        if self._near == (self.lanes, self.height):
            self._tiles_of(env, whole, rows, far=far, non_temporal=False)
            return
        near = copy(self)
        near.lanes, near.height = self._near
        self.emit.choose(
            far,
            lambda: self._tiles_of(env, whole, rows, far=True, non_temporal=False),
            lambda: near._tiles_of(env, whole, rows, far=False, non_temporal=False),
        )

    @property
    def _is_far(self) -> bool | ir.Value:
        """Whether the nest is beyond the cache, in a copy for that or by its size."""
        return self._far if self.non_temporal is None else self.non_temporal

    def _is_non_temporal(self) -> bool | ir.Value:
        """Return whether stores are non-temporal, which needs all of them aligned."""
        emit, store = self.emit, self.flat.accesses[self.flat.store]
        if self._is_far is False or self.non_temporal is not None:
            return self._is_far
        rows = [emit.size(s) for i, s in enumerate(store.strides) if i != self.along]
        if any(isinstance(stride, int) and stride % self.lanes for stride in rows):
            return False
        address = emit.address(self.bases[self.flat.store])
        units = [address // (self.bits(self.flat.store) // 8), emit.size(store.offset), *rows]
        odd = functools.reduce(operator.or_, units, 0)
        return emit.both(self._far, emit.compare("eq", odd & (self.lanes - 1), 0))

    def _tiles_of(
        self, env: dict[int, Index], whole: Index, rows: Span, *,
        far: bool | ir.Value, non_temporal: bool,
    ) -> None:  # fmt: skip
        """Write the whole tiles of rows of the result, each up to `whole`.

        If the nest is `far` beyond the cache, it goes by blocks.
        """
        emit, lanes, height = self.emit, self.lanes, self.height
        start = self._aligned_start(env, *rows)
        read = self.bits(next(op for op in self.flat.slice if self._reads_across(op))) // 8
        run: Index = max((_ROWS if non_temporal else _ROWS_PLAIN) // lanes, 2) * lanes
        size: Index = _LINES * (_LINE // read)
        if far is False:
            run = size = _BLOCK
        elif far is not True:
            run, size = (emit.select(far, n, _BLOCK) for n in (run, size))
        with ExitStack() as loops:
            right = loops.enter_context(emit.blocks(0, whole, run))
            down = loops.enter_context(emit.blocks(start, rows[1], size))
            y: Index = loops.enter_context(emit.loop(*down, height)).counter
            x = loops.enter_context(emit.loop(*right, lanes)).counter
            if start is not rows[0]:
                y = emit.max(emit.min(y, rows[1] - height), rows[0])
            self._tile(env, x, y, is_far=far is True, non_temporal=non_temporal)

    def _aligned_start(self, env: dict[int, Index], first: Index, upto: Index) -> Index:
        """Return where tiles begin so that no two tiles read the same lines.

        That is up to a tile before the first row; the first tile is moved to it, and the last one
        moved back. Tiles may overlap, because nothing reads the result.
        """
        emit, height = self.emit, self.height
        loads = [op for op in self.flat.accesses if op.name == "memref.load"]
        source = next(filter(self._reads_across, loads))
        strides = [self.flat.accesses[op].strides for op in loads if not self._crosses(op)]
        size = self.bits(source) // 8
        if size * height < _LINE or any(0 not in (s[self.along], s[self.across]) for s in strides):
            return first
        across = self.flat.accesses[source].strides
        sizes = [emit.size(stride) for i, stride in enumerate(across) if i != self.across]
        odd = functools.reduce(operator.or_, sizes, 0)
        count = upto - first
        if (isinstance(odd, int) and odd % height) or (
            isinstance(count, int) and count < _MIN_ALIGNED
        ):
            return first
        place, _ = self._address(source, Lanes({**env, self.across: first, self.along: 0}))
        address = emit.address(self.bases[source])
        past = emit.select(count >= _MIN_ALIGNED, (address // size + place) & (height - 1), 0)
        if not isinstance(odd, int):
            past = emit.select(emit.compare("eq", odd & (height - 1), 0), past, 0)
        return first - past

    def _reads_across(self, op: ir.Operation) -> bool:
        return op.name == "memref.load" and self._crosses(op)

    def _crosses(self, op: ir.Operation) -> bool:
        return self.flat.accesses[op].strides[self.along] not in (0, 1)

    def _edges(
        self, env: dict[int, Index], right: Span, down: tuple[Index, Index, Index]
    ) -> None:  # fmt: skip
        """Write the edges to the right and below, by one loop over square tiles."""
        emit, side = self.emit, self.height
        (whole, columns), (first, upto, last) = right, down
        edge = (columns, last)
        each = ceil_div(columns - whole, side)
        if upto == last and whole == columns:
            return
        # First those to the right, row by row; then those below, from left to right.
        on_right = (upto - first) // side * each
        below = emit.select(upto < last, ceil_div(columns, side), 0)
        with emit.loop(0, on_right + below) as loop:
            at = loop.counter
            column: Index = (at - on_right) * side
            row = upto
            if whole != columns:
                is_right = at < on_right
                # There may be none, but a divisor has to be.
                down_by = at // emit.max(each, 1)
                over = at - down_by * each
                here = whole + over * side
                column = emit.select(is_right, here, column)
                here = first + down_by * side
                row = emit.select(is_right, here, row)
            self._tile(env, column, row, edge=edge)

    def _work(self) -> Index:
        return work_of(self.emit, self.flat, _ELEMENT)

    def _split_inside(self) -> list[int]:
        return [self.across]

    def _part(self, position: int, is_outer: bool) -> ParallelDim:
        # A tile is work enough: what has few channels would all go to one thread.
        return replace(super()._part(position, is_outer), unit=1 if is_outer else self.height)

    def _tile(
        self, env: dict[int, Index], column: Index, row: Index, *,
        is_far: bool = False, non_temporal: bool = False, edge: tuple[Index, Index] | None = None,
    ) -> None:  # fmt: skip
        """Write a tile; with an edge a square one of what exists."""
        emit, height, side = self.emit, self.height, self._side
        lanes, parts = self.lanes if edge is None else height, range(0, height, side)
        loads: list[list[ir.Value | None]] = [[None] * lanes] * len(parts)
        stores: list[ir.Value | None] = [None] * height
        if edge is not None:
            across, down = (end - at for end, at in zip(edge, (column, row), strict=True))
            loads = [self._masks(lanes, across, side, down - part) for part in parts]
            stores = self._masks(height, down, lanes, across)
        lines: dict[ir.Operation, list[list[ir.Value]]] = {}
        for op in filter(self._reads_across, self.flat.accesses):
            base = self.bases[op]
            type_ = ir.VectorType.get([side], base.type.element_type)
            stride = emit.size(self.flat.accesses[op].strides[self.along])
            first, _ = self._address(op, Lanes({**env, self.across: row, self.along: column}))
            ahead = _AHEAD * _LINE // (self.bits(op) // 8)
            lines[op] = []
            places = self._in_turn(first, stride, lanes)
            for place, masks in zip(places, zip(*loads, strict=True), strict=True):
                line = [
                    emit.vector_load(base, [place + part], type_, mask)
                    for part, mask in zip(parts, masks, strict=True)
                ]
                # Later squares would read lines again that L1 may have no room for.
                lines[op].append(emit.register_barrier(line) if len(parts) > 1 else line)
                if is_far:
                    emit.prefetch(base, place + ahead, far=True)
        store, below = self.flat.store, iter(())
        if edge is None:
            first, _ = self._address(store, Lanes({**env, self.across: row}, column))
            stride = emit.size(self.flat.accesses[store].strides[self.across])
            below = self._in_turn(first, stride, height)
        for number, part in enumerate(parts):
            for op, read in lines.items():
                pieces = [line[number] for line in read]
                joined = [join(emit, pieces[i::side]) for i in range(side)]
                self._tiles[op] = transpose_tile(emit, joined)
            for self._row in range(side):
                at = row + (part + self._row)
                # No mask keeps a row beyond the end from reading what all of its elements take.
                inner = {**env, self.across: emit.min(at, edge[1] - 1) if edge else at}
                self._written = next(below, None)
                self.chunk(Lanes(inner, column, lanes, stores[part + self._row]), non_temporal)
        self._tiles, self._written = {}, None

    def _in_turn(self, first: Index, stride: Index, count: int) -> Iterator[Index]:
        """Return the places of rows, each from the one before if their distance is dynamic.

        LLVM would keep many multiples of the distance on the stack.
        """
        hidden = not isinstance(stride, int) and count > _MAX_MULTIPLES
        hidden &= self.emit.isa.assembly is not None
        for number in range(count):
            if number:
                first = self.emit.opaque_index(first + stride) if hidden else first + stride
            yield first

    def _address(self, op: ir.Operation, lanes: Lanes) -> tuple[Index, Index]:
        if op == self.flat.store and self._written is not None:
            return self._written, 1
        return super()._address(op, lanes)

    def _masks(self, vectors: int, count: Index, lanes: int, live: Index) -> list[ir.Value]:
        """Return masks of vectors, of which the first `count` have `live` lanes."""
        emit = self.emit
        whole = emit.mask(live, lanes)
        none = emit.constant(whole.type, 0)
        return [emit.select(count > number, whole, none) for number in range(vectors)]

    def _single(self, env: dict[int, Index], columns: Span, rows: Span) -> None:
        emit = self.emit
        if columns[0] == columns[1] or rows[0] == rows[1]:
            return
        with emit.loop(*rows) as down, emit.loop(*columns) as right:
            inner = {**env, self.across: down.counter}
            self.chunk(Lanes(inner, right.counter))

    def _get(self, op: ir.Operation, lanes: Lanes) -> ir.Value:
        if op in self._tiles:
            return self._tiles[op][self._row]
        return super()._get(op, lanes)


def _match_first(nests: Nests) -> NestForm | str:
    if isinstance(nests.merged, str):
        return nests.merged
    along = transposed_iters(nests.merged)
    return along if isinstance(along, str) else NestForm(nests.merged, along)


def _shuffles(form: NestForm, machine: Machine) -> float:
    lanes = machine.isa.lanes(bits_of(form.flat.written.type.element_type))
    return transpose_cycles(machine, lanes)


TRANSPOSE = one_nest(
    "transpose",
    _match_first,
    lambda form, emit: TransposeWriter(form.flat, form.along, emit).write([]),
    "square tiles",
    _shuffles,
)
