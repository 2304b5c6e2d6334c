"""Reductions: across results, along the reduction, and split ones."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import product
from relax_mlir.lowering.tir_to_vector.control_flow import UNROLL
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, identity
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.nest_elements import (
    WIDE,
    Carried,
    ElementWriter,
    Lanes,
    times_extents,
)
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.row_fusion.split_row import SplitRow

# Extrema of floats that propagate NaN: the comparison that keeps the new value.
_EXTREMA = {"arith.maximumf": "ogt", "arith.minimumf": "olt"}


class Sums:
    """Accumulators of a reduction, vectors of several lengths and scalars.

    A maximum that propagates NaN takes six instructions. Here it takes one that drops NaN, and each
    accumulator has a mask of the lanes, or pairs of lanes, that have seen one: floats, NaN there,
    where masks have no registers of their own.

    Args:
        lanes: of one register.
        shared: whether all lanes are parts of one sum, so that a mask bit may stand for two lanes.
        fma: whether products are added with FMA.
    """

    def __init__(
        self, flat: FlatNest, emit: Emitter, lanes: int, *, shared: bool, fma: bool = False
    ) -> None:
        self._emit, self._name, self._lanes = emit, flat.combiner, lanes
        self._shared = shared
        self._fma = fma and self._name == "arith.addf"
        self._element = flat.value.type
        self._keep = _EXTREMA.get(self._name)

    @property
    def has_marks(self) -> bool:
        """Whether accumulators have NaN masks."""
        return self._keep is not None

    def combine(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Combine two accumulators."""
        return self._emit.op(self._name, [a, b], a.type)

    def added(self, total: ir.Value, value: ir.Value) -> ir.Value:
        """Add a value to an accumulator; a product by FMA."""
        product = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if not self._fma or product is None or product.name != "arith.mulf":
            return self.combine(total, value)
        left, right = product.operands
        return self._emit.fused(left, right, total)

    def neutral(self, lanes: int) -> ir.Value:
        """Return the identity."""
        type_ = self._element if lanes == 1 else ir.VectorType.get([lanes], self._element)
        return self._emit.constant(type_, identity(self._name, self._element))

    def begin(self, total: ir.Value) -> list[ir.Value]:
        """Return the loop-carried values for an accumulator."""
        if not self._marks(total.type):
            return [total]
        element = self._emit.bool_type if self._emit.isa.free_masks else self._element
        return [total, self._emit.constant(ir.VectorType.get([self._marked(total)], element), 0)]

    def step(self, carried: Sequence[ir.Value], value: ir.Value) -> list[ir.Value]:
        """Return the loop-carried values after a value was added."""
        total = carried[0]
        if self._keep is None or not self._marks(value.type):
            return [self.added(total, value)]
        total = self._larger(value, total)
        mark, width = carried[1], carried[1].type.shape[0]
        parts = [self._emit.part(value, at, width) for at in range(0, value.type.shape[0], width)]
        for i in range(0, len(parts), 2):
            mark = self._noted(mark, *parts[i : i + 2])
        return [total, mark]

    def steps(self, carried: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the loop-carried values after vectors were added; a mask is for two of them."""
        if self._keep is None:
            return functools.reduce(
                lambda parts, value: self.step(parts, value), values, [*carried]
            )
        total, mark = carried
        for i in range(0, len(values), 2):
            some = values[i : i + 2]
            total = functools.reduce(lambda low, value: self._larger(value, low), some, total)
            mark = self._noted(mark, some[0], some[-1])
        return [total, mark]

    def end(self, carried: Sequence[ir.Value]) -> ir.Value:
        """Return the accumulator."""
        if not self._marks(carried[0].type):
            return carried[0]
        total, mark = carried[0], self._mask(carried[1])
        lanes = total.type.shape[0]
        if mark.type.shape[0] != lanes:
            every = [i % mark.type.shape[0] for i in range(lanes)]
            mark = self._emit.shuffle(mark, mark, every)
        nan = self._emit.constant(total.type, math.nan)
        return self._emit.select(mark, nan, total)

    def marked(self, mark: ir.Value, value: ir.Value) -> ir.Value:
        """Return a mask that is on in every lane if a scalar is NaN."""
        value = self._emit.splat(value, ir.VectorType.get(mark.type.shape, value.type))
        return self._noted(mark, value, value)

    def single(self, parts: Sequence[Sequence[ir.Value]], lanes: int) -> ir.Value:
        """Return the sum of all lanes of several loops' accumulators, in one fixed order.

        NaN masks are applied at the end.
        """
        totals = [part[0] for part in parts]
        if lanes == 1:
            return functools.reduce(self.combine, totals)
        join = self._larger if self.has_marks else self.combine
        total = functools.reduce(join, [self._emit.folded(each, join, lanes) for each in totals])
        total = self._emit.extract(self._emit.folded(total, join), 0)
        if not self.has_marks:
            return total
        seen = [self._emit.reduced(self._mask(part[1]), "or") for part in parts]
        result = functools.reduce(self._emit.either_holds, seen)
        nan = self._emit.constant(total.type, math.nan)
        return self._emit.select(result, nan, total)

    def _larger(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return the extremum of numbers without NaN."""
        return self._emit.select(self._emit.compare_floats(self._keep, a, b), a, b)

    def _noted(self, mark: ir.Value, a: ir.Value, b: ir.Value | None = None) -> ir.Value:
        """Return a mark, on as well where one of two values is NaN."""
        seen = self._emit.compare_floats("uno", a, a if b is None else b)
        if self._emit.isa.free_masks:
            return self._emit.either_holds(mark, seen)
        nan = self._emit.constant(mark.type, math.nan)
        return self._emit.select(seen, nan, mark)

    def _mask(self, mark: ir.Value) -> ir.Value:
        is_mask = self._emit.isa.free_masks
        return mark if is_mask else self._emit.compare_floats("uno", mark, mark)

    def _marks(self, type_: ir.Type) -> bool:
        return self._keep is not None and isinstance(type_, ir.VectorType)

    def _marked(self, total: ir.Value) -> int:
        """Return the lanes of a mask: of a register, or half as many where those cost nothing."""
        lanes = total.type.shape[0]
        if not self._shared or lanes <= self._lanes:
            return lanes
        return lanes // 2 if self._emit.isa.free_masks else self._lanes


# Rows that threads read side by side.
_ROWS = 8
# Elements of a part of a split reduction, and results from which on sums are not split.
_PIECE = 1 << 15
_FEW_SUMS = 16


def reduce_across(writer: ElementWriter, env: dict[int, Index], reductions: list[int]) -> None:
    """Reduce with a lane for each result."""
    totals = sums_of(writer, shared=False)

    def chunk(lanes: Lanes) -> None:
        start = totals.begin(writer._start(lanes))

        def step(inner: dict[int, Index], carried: Carried) -> Carried:
            return totals.step(carried, writer._value(lanes.where(inner)))

        writer._put(totals.end(writer._loops(env, reductions, start, step)), lanes)

    # Accumulators side by side across results: longer runs of each row. NaN masks and computed
    # operands need registers too.
    slice_ = writer.flat.slice
    plain = len(slice_) == 1 and slice_[0] in writer.flat.accesses and not totals.has_marks
    most = writer.machine.registers // 2 if plain else WIDE
    by_rows = plain and _by_rows(writer, reductions)
    writer.emit.choose(
        by_rows,
        lambda: _reduce_rows(writer, env, reductions[0]),
        lambda: writer._chunks(chunk, env, most),
    )


def sums_of(writer: ElementWriter, *, shared: bool) -> Sums:
    """Return the accumulators of a nest, as `Sums` has them."""
    fma = writer.machine.fma
    return Sums(writer.flat, writer.emit, writer.lanes, shared=shared, fma=fma)


def _by_rows(writer: ElementWriter, reductions: list[int]) -> bool | ir.Value:
    """Return whether sums are better in cache: long rows from beyond L2."""
    emit, flat = writer.emit, writer.flat
    if len(reductions) != 1 or flat.init is None or not writer.masked or writer.vector is None:
        return False
    columns = flat.iters[writer.vector].extent
    total = times_extents(emit, flat.iters, writer.bits(flat.slice[0]) // 8)
    return emit.all_at_most(
        (writer.machine.far_bytes, total),
        (writer.machine.registers * writer.lanes, emit.size(columns)),
    )


def _reduce_rows(writer: ElementWriter, env: dict[int, Index], reduction: int) -> None:
    """Reduce whole rows, with the sums in the result.

    One thread reads row after row, in memory order, with as many sums as fit L1. Threads that share
    columns read a part of several rows.
    """
    emit, vector = writer.emit, writer.vector
    rows = emit.size(writer.flat.iters[reduction].extent)
    together = 1 if emit.threads == 1 else _ROWS
    span = first, last = writer._span(vector)
    most = writer.machine.l1_bytes * 4 // writer.bits(writer.flat.store)

    def start(lanes: Lanes) -> None:
        writer._put(writer._start(lanes), lanes)

    def get(lanes: Lanes) -> ir.Value:
        return writer._get(writer.flat.store, lanes)

    with emit.blocks(first, last, most) as block:
        writer._ranges[vector] = block
        writer._chunks(start, env)
        sum_rows(writer, env, reduction, (0, rows), together, get, writer._put)
    writer._ranges[vector] = span


def sum_rows(
    writer: ElementWriter, env: dict[int, Index], reduction: int,
    rows: Span, together: int,
    get: Callable[[Lanes], ir.Value], put: Callable[[ir.Value, Lanes], None],
) -> None:  # fmt: skip
    """Add a range of rows to sums in memory, several rows together.

    `reduction` is the iterator over rows; `get` and `put` load and store the sums of some lanes.
    """
    totals = sums_of(writer, shared=False)

    def add(first: Index, count: int) -> None:
        def chunk(lanes: Lanes) -> None:
            total = get(lanes)
            for row in range(count):
                value = writer._value(lanes.where({reduction: first + row}))
                total = totals.added(total, value)
            put(total, lanes)

        writer._chunks(chunk, env)

    writer.emit.in_groups(*rows, together, add)


def reduce_along(writer: ElementWriter, env: dict[int, Index], reductions: list[int]) -> None:
    """Reduce with lanes along the reduction, combined at the end in one fixed order."""
    extent = writer.flat.iters[writer.vector].extent
    if writer.long is not None:
        _reduce_long(writer, writer.long, env)
        return
    span = (0, writer.emit.size(extent))
    totals, total = _total(writer, env, reductions, span, extent.value)
    writer._put(totals.combine(writer._start(Lanes(env)), total), Lanes(env))


def _reduce_long(writer: ElementWriter, row: SplitRow, env: dict[int, Index]) -> None:
    """Reduce a split row: all parts in turn, or those of this thread."""
    emit, sums = writer.emit, row.sums
    totals = sums_of(writer, shared=True)
    even = row.length % (WIDE * writer.lanes) == 0

    def part(number: Index) -> ir.Value:
        return _total(writer, env, [], row.piece(emit, number), None, even=even)[1]

    if row.own is not None:
        with emit.loop(*row.own) as loop:
            emit.store(part(loop.counter), sums, [loop.counter])
        emit.wait()
    known = part if row.own is None else lambda number: emit.load(sums, [number])
    combine_parts(writer, Lanes(env), row.pieces, totals, known)


def combine_parts(
    writer: ElementWriter, lanes: Lanes, pieces: Index, totals: Sums,
    part: Callable[[Index], ir.Value],
) -> None:  # fmt: skip
    """Write the results of some lanes, given the sums of their parts, in order."""
    with writer.emit.loop(0, pieces, 1, [writer._start(lanes)]) as loop:
        loop.carry([totals.combine(loop.carried[0], part(loop.counter))])
    writer._put(loop.results[0], lanes)


def _total(
    writer: ElementWriter, env: dict[int, Index], reductions: list[int],
    span: Span, known: int | None, *, even: bool = False,
) -> tuple[Sums, ir.Value]:  # fmt: skip
    """Return the sum over some iterators and a range of the vectorised one.

    `known` is the length of the range, if it is static, and `even` says that it is a multiple of
    the longest step.
    """
    emit, lanes = writer.emit, writer.lanes
    wide = lanes * WIDE
    widths = (wide, lanes) if known is None or known >= 2 * wide else (lanes,)
    widths = (wide,) if even else widths
    totals = sums_of(writer, shared=True)
    begun = [totals.begin(totals.neutral(width)) for width in widths]
    count = len(begun[0])
    used: set[int] = set()

    def run(inner: dict[int, Index], carried: Carried) -> Carried:
        done, last = span
        parts = [carried[i : i + count] for i in range(0, len(carried), count)]
        for i, width in enumerate(widths):
            upto = done + emit.round_down(last - done, width)
            if upto == done:
                continue
            used.add(i)
            with emit.loop(done, upto, width, parts[i], UNROLL) as loop:
                value = writer._value(Lanes(inner, loop.counter, width))
                loop.carry(totals.step(loop.carried, value))
                if writer.also is not None and width == wide:
                    writer.also(loop.counter)
            parts[i], done = loop.results, upto
        if done != last and not even:
            used.add(len(parts) - 1)
            parts[-1] = _rest(writer, inner, totals, parts[-1], (done, last))
        return [value for part in parts for value in part]

    sums = writer._loops(env, reductions, [value for part in begun for value in part], run)
    ends = [sums[i * count : (i + 1) * count] for i in sorted(used) or [0]]
    return totals, totals.single(ends, lanes)


def _rest(
    writer: ElementWriter, env: dict[int, Index], totals: Sums, carried: Carried,
    span: Span,
) -> Carried:  # fmt: skip
    """Combine the tail, less than a vector, with the accumulators of a loop."""
    emit, lanes = writer.emit, writer.lanes
    total, *marks = carried
    if writer.masked and lanes > 1:
        mask = emit.mask(span[1] - span[0], lanes)
        value = writer._value(Lanes(env, span[0], lanes, mask))
        if marks:
            value = emit.select(mask, value, totals.neutral(lanes))
            return totals.step(carried, value)
        more = totals.added(total, value)
        return [emit.select(mask, more, total)]
    first = total if lanes == 1 else emit.extract(total, 0)
    with emit.loop(*span, 1, [first]) as loop:
        value = writer._value(Lanes(env, loop.counter))
        loop.carry([totals.combine(loop.carried[0], value)])
    rest = loop.results[0]
    marks = [totals.marked(mark, rest) for mark in marks]
    return [rest if lanes == 1 else emit.insert(rest, total, 0), *marks]


# Results of a block, and elements of the longest rows that go in blocks.
_BLOCK, _SHORT_ROW = 64, 512


def goes_in_blocks(writer: ElementWriter, free: list[int], reductions: list[int]) -> bool:
    """Whether rows of neighbouring results are nearer in memory than the rows of one result."""
    flat, vector = writer.flat, writer.vector
    if not free or not reductions or vector is None or not flat.iters[vector].reduction:
        return False
    length = flat.iters[vector].extent.value
    if writer.lanes == 1 or length is None or length > _SHORT_ROW:
        return False
    steps = [flat.accesses[op].strides for op in flat.slice if op in flat.accesses]
    pairs = [(step[free[-1]].value, step[reductions[-1]].value) for step in steps]
    near = all(a is not None and b is not None and 0 <= a < b for a, b in pairs)
    return near and not sums_of(writer, shared=True).has_marks


def reduce_blocks(
    writer: ElementWriter, env: dict[int, Index], reductions: list[int], position: int
) -> None:
    """Reduce blocks of results along an iterator, with a vector of sums in memory for each."""
    emit, lanes, totals = writer.emit, writer.lanes, sums_of(writer, shared=True)
    _, length = writer._span(writer.vector)
    whole, element = emit.round_down(length, lanes), writer.flat.value.type
    sums = emit.alloc(_BLOCK * lanes, element, _BLOCK * lanes)
    with emit.blocks(*writer._span(position), _BLOCK) as (first, last):

        def each(env: dict[int, Index], write: Callable[[dict[int, Index], Index], None]) -> None:
            with emit.loop(first, last) as row:
                write({**env, position: row.counter}, (row.counter - first) * lanes)

        def load(at: Index) -> ir.Value:
            return emit.vector_load(sums, [at], ir.VectorType.get([lanes], element))

        def add(env: dict[int, Index], at: Index) -> None:
            with emit.loop(0, whole, lanes, [load(at)], UNROLL) as loop:
                value = writer._value(Lanes(env, loop.counter, lanes))
                loop.carry([totals.added(loop.carried[0], value)])
            total = loop.results
            if whole != length:
                total = _rest(writer, env, totals, total, (whole, length))
            emit.vector_store(total[0], sums, [at])

        def finish(env: dict[int, Index], at: Index) -> None:
            total = totals.single([[load(at)]], lanes)
            writer._put(totals.combine(writer._start(Lanes(env)), total), Lanes(env))

        def step(env: dict[int, Index], carried: Carried) -> Carried:
            each(env, add)
            return carried

        each(env, lambda _, at: emit.vector_store(totals.neutral(lanes), sums, [at]))
        writer._loops(env, reductions, [], step)
        each(env, finish)


def is_split(writer: ElementWriter) -> bool:
    """Whether a reduction has so few results that threads could only share the sums themselves."""
    flat, vector = writer.flat, writer.vector
    if flat.total is None or vector is None or not flat.iters[vector].reduction:
        return False
    size = flat.iters[vector].extent.value
    if any(it.reduction for i, it in enumerate(flat.iters) if i != vector):
        return False
    sums = _sums(writer)
    return sums is not None and sums < _FEW_SUMS and (size is None or size > _PIECE)


def _sums(writer: ElementWriter) -> int | None:
    free = [it.extent for i, it in enumerate(writer.flat.iters) if i != writer.vector]
    return product(free).value


def reduce_split(writer: ElementWriter) -> None:
    """Reduce parts of one size, for any number of threads, then combine them in order."""
    emit, flat = writer.emit, writer.flat
    size = emit.size(flat.iters[writer.vector].extent)
    pieces = ceil_div(size, _PIECE)
    free = [i for i in range(len(flat.iters)) if i != writer.vector]
    count = pieces * (_sums(writer) or 0)
    partial = emit.alloc(count, flat.value.type)
    parts = [ParallelDim(emit.size(flat.iters[i].extent), 1, 1 << 30) for i in free]
    totals = Sums(flat, emit, writer.lanes, shared=True)
    with (
        emit.parallel_region([*parts, ParallelDim(pieces)], writer._work()) as ranges,
        _each_sum(writer, free, ranges) as (env, row),
        emit.loop(*ranges[-1]) as loop,
    ):
        first = loop.counter * _PIECE
        last = emit.min(first + _PIECE, size)
        _, total = _total(writer, env, [], (first, last), None)
        emit.store(total, partial, [row * pieces + loop.counter])
    whole = [(0, emit.size(flat.iters[i].extent)) for i in free]
    with _each_sum(writer, free, whole) as (env, row):
        combine_parts(
            writer, Lanes(env), pieces, totals,
            lambda number, row=row: emit.load(partial, [row * pieces + number]),
        )  # fmt: skip


@contextmanager
def _each_sum(
    writer: ElementWriter, free: list[int], ranges: Sequence[Span]
) -> Iterator[tuple[dict[int, Index], Index]]:
    """Write the loops over results; yields their counters and the number of the result."""
    emit, row, env = writer.emit, 0, dict[int, Index]()
    with ExitStack() as loops:
        for position, span in zip(free, ranges, strict=False):
            extent = emit.size(writer.flat.iters[position].extent)
            env[position] = loops.enter_context(emit.loop(*span)).counter
            row = row * extent + env[position]
        yield env, row
