"""Skinny GEMM: few rows of A, so B is read in order, once, and memory is the limit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.contraction.gemm_blocking import GemmBlocking
from relax_mlir.lowering.tir_to_vector.contraction.operands import Loader
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.emit import Emitter, StridedRef, add, multiply_add
from relax_mlir.lowering.tir_to_vector.index_emit import Index

# Shuffles inside this many bits are faster than others.
_SHUFFLE_BITS = 128
# A lane: of which vector, and which of the lanes of that one.
_Lanes = list[tuple[int, int]]


def horizontal_sums(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the horizontal sum of each of some vectors of one type.

    Two vectors become one of sums of halves, and so on: a quarter of the instructions of one vector
    after the other. The order of a sum is that of a single vector.
    """
    lanes = values[0].type.shape[0]
    most = 1 << (min(len(values), lanes).bit_length() - 1)
    made = _together(emit, values[:most])
    return made if most == len(values) else made + horizontal_sums(emit, values[most:])


def _together(emit: Emitter, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the sums of a power of two of vectors, at most as many as lanes."""
    group = values[0].type.shape[0]
    block = max(1, _SHUFFLE_BITS // values[0].type.element_type.width)
    held: list[tuple[ir.Value, _Lanes]] = [
        (value, [(number, lane) for lane in range(group)]) for number, value in enumerate(values)
    ]
    while group > 1:
        if len(held) > 1:
            pairs = zip(held[::2], held[1::2], strict=True)
            held = [_halved(emit, x, y, group, block) for x, y in pairs]
        else:
            held = [_halved(emit, held[0], None, group, block)]
        group //= 2
    ((value, lanes),) = held
    places = {number: place for place, (number, _) in enumerate(lanes)}
    return [emit.extract(value, places[number]) for number in range(len(values))]


def _halved(
    emit: Emitter, x: tuple[ir.Value, _Lanes], y: tuple[ir.Value, _Lanes] | None, group: int,
    block: int,
) -> tuple[ir.Value, _Lanes]:  # fmt: skip
    """Add the second half of each partial sum to the first."""
    pair = [x] if y is None else [x, y]
    count = len(x[1])
    # Blocks of at most 128 bits interleave both vectors; larger ones follow each other.
    size = block if group <= block and y is not None else count
    halves: tuple[list[int], list[int]] = ([], [])
    lanes: _Lanes = []
    for start in range(0, count, size):
        for number, (_, held) in enumerate(pair):
            for place in range(start, start + size):
                which, lane = held[place]
                high = lane >= group // 2
                halves[high].append(number * count + place)
                if not high:
                    lanes.append((which, lane))
    first, second = (emit.shuffle(x[0], pair[-1][0], half) for half in halves)
    return add(emit, first, second), lanes


_One = Callable[[Index, ir.Value | None], None]
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


class _Columns(NamedTuple):
    """A range of columns, and whether they are whole vectors."""

    first: Index
    last: Index
    whole: bool = False

    @property
    def count(self) -> Index:
        """Return the number of columns."""
        return self.last - self.first


@dataclass
class SkinnyGemm:
    """Writes the products of a few rows of A and columns of B.

    Attributes:
        blocking: of the contraction.
        init: the initial value of C; None adds to C.
        most: the maximal number of rows.
        a, b, c: the first element of each matrix.
        left: loads A, if it was copied.
    """

    blocking: GemmBlocking
    init: ir.Attribute | None
    most: int
    a: StridedRef
    b: StridedRef
    c: StridedRef
    left: Loader | None = None

    def __post_init__(self) -> None:
        blocking = self.blocking
        self.emit, self.gemm, self.machine = blocking.emit, blocking.gemm, blocking.machine
        self.rows, self.steps = blocking.m, blocking.k
        self.vector, self._lanes = blocking.vector, blocking.lanes
        self._fma = self.machine.fma
        in_place, self._load_b = (
            Loader(self.emit, x.base, widen, self.vector)
            for x, widen in zip((self.a, self.b), self.gemm.widen, strict=True)
        )
        self._load_a = self.left or in_place

    @property
    def along_n(self) -> bool:
        """Whether columns of B are adjacent: sums are then vectors of columns."""
        return bool(self.gemm.b.strides[self.gemm.n] == 1)

    def write(self, first: Index, last: Index) -> None:
        """Write the loops over a range of columns."""
        if self.along_n:
            self._runs(first, last)
        else:
            self._dots(first, last)

    def _runs(self, first: Index, last: Index) -> None:
        """Add multiples of a few rows of B at a time to sums in cache."""
        emit, rows, steps = self.emit, self.rows, self.steps
        # The hardware does not prefetch short runs of B, so sums of several rows may be in L2.
        width = _SUMS_TOGETHER // _PIECE // emit.max(rows, 1) * _PIECE
        width = emit.min(width, _COLUMNS)
        with emit.blocks(first, last, width) as block:
            span = _Columns(*block)
            if self.init is not None:
                self._start(span)
            if isinstance(rows, int) and isinstance(steps, int):
                self._known_runs(rows, span, steps)
            else:
                self._unknown_runs(span)

    def _group(self, rows: int) -> int:
        """Return how many rows of B are added at a time, for a number of rows of A.

        Their factors of A stay in registers.
        """
        together = max(1, min(rows, _TOGETHER))
        return min(_STEPS, self.machine.registers * 3 // 4 // together)

    def _known_runs(self, rows: int, span: _Columns, steps: int) -> None:
        group = self._group(rows)
        many = steps // group * group
        for low, high, count in ((0, many, group), (many, steps, 1)):
            if low == high:
                continue
            with self.emit.loop(low, high, count) as k:
                self._all_rows(span, k.counter, count)

    def _unknown_runs(self, span: _Columns) -> None:
        """Add rows of B for dynamic sizes, with short code for the tails."""
        emit, rows, steps = self.emit, self.rows, self.steps
        several = self._group(rows if isinstance(rows, int) else _TOGETHER)
        # One row alone takes more rows of B at a time.
        one = None if isinstance(rows, int) else emit.compare("eq", rows, 1)
        alone = self._group(1)
        group = several if one is None else emit.select(one, alone, several)
        upto = span.first + emit.round_down(span.count, self._lanes)
        whole, rest = _Columns(span.first, upto, True), _Columns(upto, span.last)
        with emit.loop(0, steps, group) as k:
            left = steps - k.counter
            with emit.when(left >= group) as branch:
                if one is None:
                    self._all_rows(whole, k.counter, several)
                else:
                    with emit.when(one) as single:
                        self._some_rows(0, 1, whole, k.counter, alone)
                    with emit.otherwise(single):
                        self._all_rows(whole, k.counter, several)
            with (
                emit.otherwise(branch),
                emit.loop(k.counter, steps) as step,
                emit.loop(0, rows) as row,
            ):
                self._some_rows(row.counter, 1, whole, step.counter, 1)
        self._last_columns(rest)

    def _last_columns(self, span: _Columns) -> None:
        """Add to the sums of columns that fill no vector."""
        emit, gemm, rows = self.emit, self.gemm, self.rows
        a, b, c = self.a, self.b, self.c
        left = span.count
        if left == 0:
            return
        mask = emit.mask(left, self._lanes)
        together = min(rows, _TOGETHER) if isinstance(rows, int) else _TOGETHER
        with (
            emit.when(left > 0),
            emit.loop(0, rows, together) as group,
        ):
            # Rows past the last one repeat it.
            upto = rows - 1
            numbers = [emit.min(group.counter + i, upto) for i in range(together)]
            starts = [a.offset + row * a.stride(gemm.m) for row in numbers]
            places = [[self._place(row, span.first)] for row in numbers]
            sums = [emit.vector_load(c.base, place, self.vector, mask) for place in places]
            with emit.loop(0, self.steps, 1, sums) as k:
                along = k.counter * a.stride(gemm.k)
                place = b.offset + k.counter * b.stride(gemm.k)
                line = self._load_b.vectors(place + span.first, mask)
                factors = [
                    emit.splat(self._load_a.one(start + along), self.vector) for start in starts
                ]
                k.carry(
                    [
                        multiply_add(emit, self._fma, factor, line, total)
                        for factor, total in zip(factors, k.carried, strict=True)
                    ]
                )
            for place, total in zip(places, k.results, strict=True):
                emit.vector_store(total, c.base, place, mask)

    def _all_rows(self, span: _Columns, k: Index, steps: int) -> None:
        """Add to the sums of all rows, a few at a time: B is in cache after the first."""
        emit, rows = self.emit, self.rows

        def some(first: Index, count: int) -> None:
            self._some_rows(first, count, span, k, steps)

        if isinstance(rows, int) and rows <= _TOGETHER:
            some(0, rows)
            return
        whole: Index = 0
        if isinstance(rows, int) or self.most >= _TOGETHER:
            whole = emit.round_down(rows, _TOGETHER)
            with emit.loop(0, whole, _TOGETHER) as row:
                some(row.counter, _TOGETHER)
        left = rows - whole
        if isinstance(left, int):
            if left:
                some(whole, left)
            return
        for count in range(1, _TOGETHER):
            with emit.when(emit.compare("eq", left, count)):
                some(whole, count)

    def _start(self, span: _Columns) -> None:
        emit, c = self.emit, self.c
        splat = ir.DenseElementsAttr.get_splat(self.vector, self.init)
        value = emit.constant_of(self.vector, splat)

        with emit.loop(0, self.rows) as row:

            def one(column: Index, mask: ir.Value | None) -> None:
                place = self._place(row.counter, column)
                emit.vector_store(value, c.base, [place], mask)

            self._across(span, one)

    def _some_rows(self, first: Index, rows: int, span: _Columns, k: Index, count: int) -> None:
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

        def one(column: Index, mask: ir.Value | None) -> None:
            lines = [self._load_b.vectors(start + column, mask) for start in starts]
            for row in range(rows):
                where = [out + row * c.stride(self.gemm.m) + column * c.stride(self.gemm.n)]
                total = emit.vector_load(c.base, where, self.vector, mask)
                for step, line in enumerate(lines):
                    factor = factors[row * count + step]
                    total = multiply_add(emit, self._fma, factor, line, total)
                emit.vector_store(total, c.base, where, mask)

        self._across(span, one)

    def _across(self, span: _Columns, one: _One) -> None:
        emit, lanes = self.emit, self._lanes
        upto = span.last
        if not span.whole:
            upto = span.first + emit.round_down(span.count, lanes)
        with emit.loop(span.first, upto, lanes) as column:
            one(column.counter, None)
        left = 0 if span.whole else span.last - upto
        emit.if_any(left, lambda: one(upto, emit.mask(left, lanes)))

    def _place(self, row: Index, column: Index) -> Index:
        c, gemm = self.c, self.gemm
        return c.offset + row * c.stride(gemm.m) + column * c.stride(gemm.n)

    def _dots(self, first: Index, last: Index) -> None:
        """Multiply rows of A with several columns of B at a time, both read along k."""
        emit, rows = self.emit, self.rows
        if not isinstance(rows, int):
            single = emit.compare("eq", rows, 1)
            with emit.when(single) as branch:
                for numbers in self._clamped(first, last):
                    self._dots_of([0], numbers)
            with emit.otherwise(branch):
                final = rows - 1
                for numbers in self._clamped(first, last):
                    with emit.loop(0, rows, 2) as row:
                        two = [row.counter, emit.min(row.counter + 1, final)]
                        self._dots_of(two, numbers)
            return
        many = first + emit.round_down(last - first, _DOTS)
        for low, high, count in ((first, many, _DOTS), (many, last, 1)):
            if low == high:
                continue
            with emit.loop(low, high, count) as column:
                numbers = [column.counter + i for i in range(count)]
                # Static rows share the loads of B.
                together = _TOGETHER if self._many else 2
                for start in range(0, rows, together):
                    some = range(start, min(start + together, rows))
                    parts = _SUMS if rows == 1 else 1
                    self._dots_of(some, numbers, parts)

    @property
    def _many(self) -> bool:
        return self.machine.registers >= _MANY

    def _clamped(self, first: Index, last: Index) -> Iterator[list[Index]]:
        """Loop over several columns at a time; those past the last one repeat it."""
        emit, final = self.emit, last - 1
        count = 2 * _DOTS if self._many else _DOTS
        with emit.loop(first, last, count) as column:
            yield [emit.min(column.counter + i, final) for i in range(count)]

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
                        made[at] = multiply_add(emit, self._fma, row, column, made[at])
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
