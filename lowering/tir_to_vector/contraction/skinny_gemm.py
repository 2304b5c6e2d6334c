"""Skinny GEMM: few rows of A, so B is read in order, once, and memory is the limit.

B is in place, or in packed panels, each of which is read from end to end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.blocking import GemmBlocking
from relax_mlir.lowering.tir_to_vector.contraction.gemm_operands import copy_of_rows
from relax_mlir.lowering.tir_to_vector.contraction.microkernel import (
    RegisterTile,
    Store,
    store_kept,
    tile_step,
    tile_sums,
)
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP, UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef, add, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span
from relax_mlir.lowering.tir_to_vector.shuffles import horizontal_sums

# The maximal rows of B that are added to the sums at a time.
_STEPS = 8
# Rows of A that are multiplied with them at a time.
_TOGETHER = 4
# Columns whose sums stay in cache, their unit, and the maximal sums of all rows.
_COLUMNS, _PIECE, _SUMS_TOGETHER = 4096, 64, 16384
# Dot products that are computed side by side, and accumulators of each if there is one row.
_DOTS, _SUMS = 4, 2
# Registers that hold the sums of several rows.
_MANY = 32


@dataclass
class SkinnyGemm:
    """Writes the products of a few rows of A and columns of B.

    Attributes:
        blocking: of the contraction.
        init: the initial value of C; None adds to C.
        a, b, c: the first element of each matrix.
        left: loads A, if it was copied.
    """

    blocking: GemmBlocking
    init: ir.Attribute | None
    a: StridedRef
    b: StridedRef
    c: StridedRef
    left: Loader | None = None

    def __post_init__(self) -> None:
        blocking = self.blocking
        self.emit, self.gemm, self.machine = blocking.emit, blocking.gemm, blocking.machine
        self.rows, self.steps = blocking.m, blocking.k
        self.vector, self._lanes = blocking.vector, blocking.lanes
        in_place, self._load_b = (
            Loader(self.emit, x.base, widen, self.vector)
            for x, widen in zip((self.a, self.b), self.gemm.widen, strict=True)
        )
        self._load_a = self.left or in_place

    def write(self, first: Index, last: Index) -> None:
        """Write the loops over a range of columns."""
        if self.gemm.b.strides[self.gemm.n] == 1:
            self._runs(first, last)
        else:
            self._dots(first, last)

    def _runs(self, first: Index, last: Index) -> None:
        """Add multiples of a few rows of B at a time to sums in cache."""
        emit, rows, steps, lanes = self.emit, self.rows, self.steps, self._lanes
        several = self._group(rows if isinstance(rows, int) else _TOGETHER)
        # One row alone takes more rows of B at a time.
        single, alone = emit.holds("eq", rows, 1), self._group(1)
        group = emit.select(single, alone, several)
        # The hardware does not prefetch short runs of B, so sums of several rows may be in L2.
        width = _SUMS_TOGETHER // _PIECE // emit.max(rows, 1) * _PIECE
        width = emit.min(width, _COLUMNS)
        with emit.blocks(first, last, width) as (begin, end):
            if self.init is not None:
                self._start(begin, end)
            span = begin, begin + emit.round_down(end - begin, lanes)
            many = steps // group * group
            with emit.loop(0, many, group) as k:
                at = k.counter
                emit.choose(
                    single, lambda: self._some_rows(span, at, alone, 0, 1),
                    lambda: self._all_rows(span, at, several),
                )  # fmt: skip
            if many != steps:
                with emit.loop(many, steps) as step, emit.loop(0, rows) as row:
                    self._some_rows(span, step.counter, 1, row.counter, 1)
            left = end - span[1]
            emit.if_any(left, lambda: self._last_columns(span[1], emit.mask(left, lanes)))

    def _group(self, rows: int) -> int:
        """Return how many rows of B are added at a time, for a number of rows of A.

        Their factors of A stay in registers.
        """
        together = max(1, min(rows, _TOGETHER))
        return min(_STEPS, self.machine.registers * 3 // 4 // together)

    def _last_columns(self, column: Index, mask: ir.Value) -> None:
        """Add to the sums of columns that fill no vector."""
        emit, gemm, rows = self.emit, self.gemm, self.rows
        a, b, c = self.a, self.b, self.c
        together = max(1, min(rows, _TOGETHER)) if isinstance(rows, int) else _TOGETHER
        with emit.loop(0, rows, together) as group:
            # Rows past the last one repeat it.
            upto = rows - 1
            numbers = [emit.min(group.counter + i, upto) for i in range(together)]
            starts = [a.offset + row * a.stride(gemm.m) for row in numbers]
            places = [[self._place(row, column)] for row in numbers]
            sums = [emit.vector_load(c.base, place, self.vector, mask) for place in places]
            with emit.loop(0, self.steps, 1, sums) as k:
                along = k.counter * a.stride(gemm.k)
                place = b.offset + k.counter * b.stride(gemm.k)
                line = self._load_b.vectors(place + column, mask)
                factors = [
                    emit.splat(self._load_a.one(start + along), self.vector) for start in starts
                ]
                pairs = zip(factors, k.carried, strict=True)
                k.carry([multiply_add(emit, factor, line, total) for factor, total in pairs])
            for place, total in zip(places, k.results, strict=True):
                emit.vector_store(total, c.base, place, mask)

    def _all_rows(self, span: Span, k: Index, steps: int) -> None:
        """Add to the sums of all rows, a few at a time: B is in cache after the first."""
        some = partial(self._some_rows, span, k, steps)
        if isinstance(self.rows, int) and self.rows <= _TOGETHER:
            some(0, self.rows)
        else:
            _each_few(self.emit, self.rows, some)

    def _start(self, first: Index, last: Index) -> None:
        emit, c = self.emit, self.c
        value = emit.constant_of(self.vector, self.init)
        with emit.loop(0, self.rows) as row:

            def one(column: Index, mask: ir.Value | None) -> None:
                emit.vector_store(value, c.base, [self._place(row.counter, column)], mask)

            emit.each_vector(first, last, self._lanes, one)

    def _some_rows(self, span: Span, k: Index, count: int, first: Index, rows: int) -> None:
        """Add `count` rows of B, from row k on, to the sums of some rows."""
        emit, (a, b, c) = self.emit, (self.a, self.b, self.c)
        k_stride = a.stride(self.gemm.k)
        begin, out = (x.offset + first * x.stride(self.gemm.m) for x in (a, c))
        factors = []
        for row in range(rows):
            start = begin + row * a.stride(self.gemm.m)
            for step in range(count):
                place = start + (k + step) * k_stride
                factors.append(emit.splat(self._load_a.one(place), self.vector))
        starts = [b.offset + (k + step) * b.stride(self.gemm.k) for step in range(count)]

        with emit.loop(*span, self._lanes) as column:
            lines = [self._load_b.vectors(start + column.counter, None) for start in starts]
            for row in range(rows):
                where = [out + row * c.stride(self.gemm.m) + column.counter * c.stride(self.gemm.n)]
                total = emit.vector_load(c.base, where, self.vector)
                for step, line in enumerate(lines):
                    factor = factors[row * count + step]
                    total = multiply_add(emit, factor, line, total)
                emit.vector_store(total, c.base, where)

    def _place(self, row: Index, column: Index) -> Index:
        c, gemm = self.c, self.gemm
        return c.offset + row * c.stride(gemm.m) + column * c.stride(gemm.n)

    def _dots(self, first: Index, last: Index) -> None:
        """Multiply rows of A with several columns of B at a time, both read along k."""
        emit, rows = self.emit, self.rows
        known, many = isinstance(rows, int), self.machine.registers >= _MANY
        count = 2 * _DOTS if many and not known else _DOTS

        def several(columns: list[Index]) -> None:
            if not isinstance(rows, int):
                with emit.loop(0, rows, 2) as row:
                    self._dots_of([row.counter, emit.min(row.counter + 1, rows - 1)], columns)
                return
            # Static rows share the loads of B.
            together = _TOGETHER if many else 2
            for start in range(0, rows, together):
                self._dots_of(range(start, min(start + together, rows)), columns)

        def by_columns(write: Callable[[list[Index]], None]) -> None:
            with emit.loop(first, last, count) as column:
                # Columns past the last one repeat it.
                write([emit.min(column.counter + i, last - 1) for i in range(count)])

        one = partial(self._dots_of, [0], parts=_SUMS * _DOTS // count)
        emit.choose(emit.holds("eq", rows, 1), lambda: by_columns(one), lambda: by_columns(several))

    def _dots_of(self, rows: Sequence[Index], columns: Sequence[Index], parts: int = 1) -> None:
        emit, (a, b, c) = self.emit, (self.a, self.b, self.c)
        left = [a.offset + row * a.stride(self.gemm.m) for row in rows]
        right = [b.offset + x * b.stride(self.gemm.n) for x in columns]
        values = self._products(left, right, parts)
        places = [self._place(row, column) for row, column in product(rows, columns)]
        if self.init is None:
            before = [emit.load(c.base, [place]) for place in places]
        else:
            before = [emit.constant_of(self.vector.element_type, self.init)] * len(places)
        for place, start, value in zip(places, before, values, strict=True):
            emit.store(add(emit, start, value), c.base, [place])

    def _products(self, left: list[Index], right: list[Index], parts: int) -> list[ir.Value]:
        """Return dot products of rows and columns, by rows; each has `parts` accumulators."""
        emit, lanes, steps = self.emit, self._lanes, self.steps

        def step(sums: Sequence[ir.Value], first: Index, rest: Index | None) -> list[ir.Value]:
            made = list(sums)
            for part in range(parts):
                k = first + part * lanes
                mask = None if rest is None else emit.mask(rest - part * lanes, lanes)
                rows = [self._load_a.vectors(a + k, mask) for a in left]
                for i, b in enumerate(right):
                    column = self._load_b.vectors(b + k, mask)
                    for j, row in enumerate(rows):
                        at = (j * len(right) + i) * parts + part
                        made[at] = multiply_add(emit, row, column, made[at])
            return made

        sums = [emit.constant(self.vector, 0)] * (len(left) * len(right) * parts)
        if self.machine.isa.free_masks and len(left) == parts == 1 and not isinstance(steps, int):
            # One loop for all steps: masks are free beside loads from memory.
            with emit.loop(0, steps, lanes, sums, KEEP) as loop:
                loop.carry(step(loop.carried, loop.counter, steps - loop.counter))
            return horizontal_sums(emit, loop.results)
        wide = emit.round_down(steps, lanes * parts)
        with emit.loop(0, wide, lanes * parts, sums, KEEP) as loop:
            loop.carry(step(loop.carried, loop.counter, None))
        sums = list(loop.results)
        rest = steps - wide
        if rest != 0:
            sums = step(sums, wide, rest)
        if parts == _SUMS:
            sums = [add(emit, sums[i], sums[i + 1]) for i in range(0, len(sums), _SUMS)]
        return horizontal_sums(emit, sums)


def _each_few(emit: Emitter, rows: Index, write: Callable[[Index, int], None]) -> None:
    """Call `write` with a few rows at a time; a dynamic tail has a branch for each number."""
    whole = emit.round_down(rows, _TOGETHER)
    with emit.loop(0, whole, _TOGETHER) as row:
        write(row.counter, _TOGETHER)
    left = rows - whole
    if isinstance(left, int):
        if left:
            write(whole, left)
        return
    for count in range(1, _TOGETHER):
        with emit.when(emit.compare("eq", left, count)):
            write(whole, count)


# Rows up to which reading the panels is the limit, not the products.
MAX_ROWS = 8
# Panels that one row reads side by side for each FMA unit, and the registers for each of their
# vectors: with 16 registers four streams take 1.1 to 1.3 times as long as two, with 32 as long
# (benchmarks/kernels.py --only layer_1x4096x4096, Zen 4).
_PANELS_PER_FMA_UNIT, _REGISTERS_PER_VECTOR = 2, 4
# The prefetch distance in bytes: the hardware prefetcher stops at the end of a page.
_PREFETCH_BYTES = 2048
# Rows from which on prefetches go into L1. Fewer rows do not hide its misses: L2 has more of them
# in flight.
_L1_PREFETCH_ROWS = 4


def is_packed_gemv(blocking: GemmBlocking) -> bool | ir.Value:
    """Return whether few rows share the panels, so that each panel is read from end to end."""
    size = blocking.vector.element_type.width // 8
    if not isinstance(blocking.k, int) or blocking.matrices:
        return False
    # The rows of A stay in L2 while panels stream through it.
    most = min(
        MAX_ROWS, blocking.rows.most, blocking.machine.l2_bytes // 2 // size // max(1, blocking.k)
    )
    if isinstance(blocking.m, int):
        return 0 < blocking.m <= most
    return most > 0 and blocking.m <= most


def panels_at_once(blocking: GemmBlocking) -> int:
    """Return how many panels one row reads side by side; threads get as many at a time.

    Args:
        blocking: of a GEMM of a packed operand.
    """
    vectors = blocking.panel_width // blocking.lanes
    fit = blocking.machine.registers // (_REGISTERS_PER_VECTOR * vectors)
    return max(1, min(_PANELS_PER_FMA_UNIT * blocking.machine.fma_units, fit))


class PackedGemv:
    """Writes the sums and their epilogue.

    Dynamic rows go four at a time, with a branch for each number of rows in the tail; a panel that
    several groups of rows read is in cache after the first.
    """

    def __init__(self, blocking: GemmBlocking) -> None:
        self._blocking, self._emit = blocking, blocking.emit
        self._most = (
            blocking.m if isinstance(blocking.m, int) else min(MAX_ROWS, blocking.rows.most)
        )
        self._panels_at_once = panels_at_once(blocking)
        rows = max(self._most, self._panels_at_once)
        self._scratch = self._emit.alloc(rows * blocking.panel_width, blocking.gemm.element)
        self._copies: ir.Value | None = None
        if blocking.dot is not None or blocking.gemm.widen[0] is not None:
            self._distance = blocking.k + blocking.lanes
            self._copies = self._emit.alloc(self._most * self._distance, blocking.operand)

    def write(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loop over panels.

        Args:
            a: the first element of A.
            b: the first element of the first panel.
            columns: the range of columns, of whole panels but for the last.
            store: what is done with sums, from column 0 on.
        """
        emit, m, gemm = self._emit, self._blocking.m, self._blocking.gemm
        a = replace(a, strides={"m": a.stride(gemm.m), "k": a.stride(gemm.k)})
        if self._copies is not None:
            a = copy_of_rows(self._blocking, a, m, self._blocking.k, self._copies, self._distance)
        emit.choose(
            self._panels_at_once > 1 and emit.holds("eq", m, 1),
            lambda: self._single(a, b, columns, store),
            lambda: self._panels(a, b, columns, store),
        )

    def _single(self, a: StridedRef, b: StridedRef, columns: Span, store: Store) -> None:
        """Write the loops for one row: several panels side by side use more streams of memory."""
        blocking, (first, last) = self._blocking, columns
        count = last - first
        if blocking.is_ragged:
            count += blocking.panel_width - 1
        width = self._panels_at_once * blocking.panel_width
        whole = first + self._emit.round_down(count, width)
        self._panels(a, b, (first, whole), store, self._panels_at_once)
        self._panels(a, b, (whole, last), store)

    def _tile(self, rows: int, vectors: int, panel: Index = 0, first: int = 0) -> RegisterTile:
        """Return a tile of some columns of a panel, or of several panels."""
        blocking, several = self._blocking, vectors > self._vectors
        load = replace(blocking.load, panel=panel, first=first)
        distance = _PREFETCH_BYTES // (blocking.panel_width * load.bytes(blocking.b.base))
        return replace(
            blocking.tile, rows=rows, vectors=vectors, load=load, prefetch_distance=distance,
            far=rows < _L1_PREFETCH_ROWS, in_order=several,
        )  # fmt: skip

    def _panels(
        self, a: StridedRef, b: StridedRef, columns: Span, store: Store, count: int = 1
    ) -> None:
        """Write the loop over panels, `count` of them side by side: those are of one row."""
        emit, blocking, vectors = self._emit, self._blocking, count * self._vectors
        rows, most = (blocking.m, self._most) if count == 1 else (1, 1)
        with emit.loop(*columns, count * blocking.panel_width) as column:
            number = column.counter // blocking.panel_width
            place = b.offset + number * b.stride(blocking.panel)
            panel = StridedRef(b.base, place, {"k": b.stride(blocking.gemm.k)})
            some = partial(self._sums, vectors, a, panel, number)
            if isinstance(rows, int):
                some(0, rows)
            else:
                _each_few(emit, rows, some)
            there = replace(store, scratch=self._scratch, rows=rows).at(column.counter)
            store_kept(self._tile(most, vectors), there, self._masks(column.counter, vectors))

    def _masks(self, column: Index, vectors: int) -> list[ir.Value | None]:
        """Return the masks of columns from one on, None for whole vectors."""
        emit, blocking = self._emit, self._blocking
        if not blocking.is_ragged:
            return [None] * vectors
        left = blocking.n - column
        return [emit.mask(left - i * blocking.lanes, blocking.lanes) for i in range(vectors)]

    @property
    def _vectors(self) -> int:
        return self._blocking.panel_width // self._blocking.lanes

    def _sums(
        self, columns: int, a: StridedRef, panel: StridedRef, number: Index, row: Index, rows: int
    ) -> None:
        """Write the sums of some rows by vectors of columns, as many at a time as fit registers."""
        emit, blocking = self._emit, self._blocking
        most = blocking.rows.most * blocking.vectors
        vectors = columns if rows * columns <= most or rows == 1 else blocking.vectors
        left = replace(a, offset=a.offset + row * a.stride("m"))
        for first in range(0, columns, vectors):
            start = panel.offset + first * blocking.lanes
            part = StridedRef(panel.base, start, panel.strides)
            tile = self._tile(rows, vectors, number, first * blocking.lanes)
            for i, value in enumerate(self._tile_sums(tile, left, part)):
                line, vector = divmod(i, vectors)
                at = (row + line) * columns + (first + vector)
                emit.vector_store(value, self._scratch, [at * blocking.lanes])

    def _tile_sums(self, tile: RegisterTile, a: StridedRef, panel: StridedRef) -> list[ir.Value]:
        """Write the sums of a tile; loops over groups of scales keep these in registers.

        Two steps that share bytes (int4) are computed at once.
        """
        emit, blocking = self._emit, self._blocking
        steps, computed = blocking.groups(blocking.k), blocking.load.computed
        if computed is None or computed.group is None:
            return tile_sums(tile, a, panel, steps)
        lines, masks = computed.half or computed.group, [None] * tile.vectors
        begin = [emit.constant(tile.vector, 0)] * (tile.rows * tile.vectors)
        with emit.loop(0, steps // computed.group, 1, begin, KEEP) as outer:
            first, group = outer.counter * computed.group, outer.counter
            with emit.loop(0, lines, 1, outer.carried, UNROLL) as loop:
                later = group * lines + loop.counter + tile.prefetch_distance
                tile.prefetch(panel.base, panel.offset + later * panel.stride("k"))
                sums = loop.carried
                for part in range(computed.group // lines):
                    k = first + part * lines + loop.counter
                    known = (group,) if computed.half is None else (group, part)
                    load = replace(tile.load, known=known)
                    here = replace(tile, load=load, prefetch_distance=0)
                    sums = tile_step(here, a, panel, k, masks, sums)
                loop.carry(sums)
            outer.carry(loop.results)
        return list(outer.results)
