"""Vector code of elementwise, broadcast and reduction nests; non-temporal stores, loop order."""

import functools
import operator
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.control_flow import KEEP
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatNest
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span
from relax_mlir.lowering.tir_to_vector.kernel_class import NestForm, Nests, one_nest
from relax_mlir.lowering.tir_to_vector.loop_distribution import LoopDistribution
from relax_mlir.lowering.tir_to_vector.nest_elements import (
    READ_AHEAD,
    WIDE,
    ElementWriter,
    Lanes,
    times_extents,
)
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.reductions.reduction import (
    goes_in_blocks,
    is_split,
    reduce_across,
    reduce_along,
    reduce_blocks,
    reduce_split,
)
from relax_mlir.lowering.tir_to_vector.reductions.split_rows import reduce_split_rows, splits_rows
from relax_mlir.lowering.tir_to_vector.shuffles import MAX_STEP

# Bytes of a run of stores.
_RUN = 1024
_SOME_SIZE = 64


def reading_order(writer: ElementWriter, free: Sequence[int]) -> list[int]:
    """Return the outer iterators of a map in the order of its loads in memory.

    Non-temporal stores do not wait in any order, but loads do unless the hardware prefetches them.
    Without one order of all loads, the order does not change.
    """
    flat = writer.flat
    orders = set()
    for op in flat.slice:
        strides = [flat.accesses[op].strides[i] for i in free] if op.name == "memref.load" else []
        if not strides or any(stride == 0 for stride in strides):
            continue
        # Only speed depends on it: one value for all symbols will do.
        symbols = frozenset[str]().union(*(stride.symbols for stride in strides))
        sizes = dict.fromkeys(symbols, _SOME_SIZE)
        near = [abs(stride.evaluate(sizes)) for stride in strides]
        orders.add(tuple(sorted(free, key=lambda i: -near[free.index(i)])))
    return list(orders.pop()) if len(orders) == 1 else list(free)


def blocked_order(
    free: list[int], other: list[int], *, non_temporal: bool
) -> tuple[list[int], int, list[int]]:
    """Return the iterators before that of blocks, that one, and those inside its blocks.

    With non-temporal stores loads stay in order, except for the two that change places. `free` are
    the outer iterators in the order of the stores, `other` in that of the loads.
    """
    same = next(i for i, (a, b) in enumerate(zip(free, other, strict=True)) if a != b)
    inside = other[same:] if non_temporal and len(free) - same > 2 else free[same:]
    return free[:same], other[same], inside


def blocked_loops(
    writer: ElementWriter, spans: dict[int, Span], loops: ExitStack,
    order: tuple[list[int], int, list[int]], *, non_temporal: bool,
) -> dict[int, Index]:  # fmt: skip
    """Write loops in the order of the stores, by blocks in the order of the loads.

    So runs of memory are written, and lines of loads are reused soon; longer runs are best for
    non-temporal stores. `order` is as `blocked_order` gives it.

    Returns:
        the counters, by iterator.
    """
    emit = writer.emit
    before, split, inside = order
    each: Index = writer.bits(writer.flat.store) // 8
    if writer.vector is not None:
        each = emit.max(emit.size(writer.flat.iters[writer.vector].extent), 1) * each
    block = emit.max(_RUN // each, 1)
    if non_temporal and inside[0] == split:
        block = 1
    elif non_temporal and block != 1:
        block *= 2
    result: dict[int, Index] = {}
    ranges = dict(spans)

    def nested(positions: list[int]) -> None:
        for position in positions:
            result[position] = loops.enter_context(emit.loop(*ranges[position])).counter

    nested(before)
    first, last = ranges[split]
    begin = loops.enter_context(emit.loop(first, last, block)).counter
    ranges[split] = (begin, emit.min(begin + block, last))
    nested(inside)
    return result


def streams(writer: ElementWriter) -> bool | ir.Value:
    """Return whether a map uses non-temporal stores; an i1 if only run time knows."""
    flat, emit = writer.flat, writer.emit
    if writer.non_temporal is not None:
        return writer.non_temporal
    if writer.near or not flat.final or writer.vector is None or not writer.masked:
        return False
    if not writer.machine.isa.nontemporal or writer.bits(flat.store) * writer.lanes < 128:
        return False
    width = sum(
        writer.bits(op) // 8
        for op, access in flat.accesses.items()
        if all(stride != 0 for stride in access.strides)
    )
    total = times_extents(emit, flat.iters, width)
    return total >= writer.machine.min_non_temporal_bytes(_in_order(flat))


def _in_order(flat: FlatNest) -> bool:
    """Return whether a map reads in the order in which it writes."""
    store = flat.accesses[flat.store]
    return all(
        stride in (0, place)
        for op, access in flat.accesses.items()
        if op.name == "memref.load"
        for stride, place in zip(access.strides, store.strides, strict=True)
    )


def write_cached(writer: "NestWriter", env: dict[int, Index]) -> None:
    """Run along the vectorised iterator of a map, given the others' counters, with plain stores."""
    span = None
    if writer.distribution is not None and writer.vector is not None:
        first, last = writer._span(writer.vector)
        wide = WIDE * writer.lanes
        span = writer.distribution.write(env, (first, last), wide, writer._put), last
    writer._chunks(writer.chunk, env, span=span)


def write_streaming(writer: "NestWriter", env: dict[int, Index]) -> None:
    """Do the same with aligned non-temporal stores."""
    assert writer.vector is not None  # or stores would be plain
    span, lanes = writer._span(writer.vector), writer.lanes
    done, last = begin_streaming(writer, env, span), span[1]
    widths = [lanes * WIDE, lanes]
    if writer.distribution is not None:
        put = partial(writer._put, non_temporal=True)
        wide = widths.pop(0)
        done = writer.distribution.write(env, (done, last), wide, put, from_memory=True)
    end_streaming(writer, env, (done, last), widths)


def begin_streaming(writer: ElementWriter, env: dict[int, Index], span: Span) -> Index:
    """Write the elements before the first aligned one of a span, and return its place."""
    emit, lanes = writer.emit, writer.lanes
    writer.streamed = True
    first, last = span
    head = emit.min(_ahead(writer, env, first), last - first)
    with emit.when(head > 0):
        writer.chunk(Lanes(env, first, lanes, emit.mask(head, lanes)))
    return first + head


def end_streaming(
    writer: ElementWriter, env: dict[int, Index], span: Span, widths: Sequence[int]
) -> None:
    """Write from an aligned place on, by steps of these widths, and the tail with a mask."""
    emit, lanes = writer.emit, writer.lanes
    done, last = span
    for width in widths:
        upto = done + emit.round_down(last - done, width)
        with emit.loop(done, upto, width, hints=KEEP) as loop:
            writer.chunk(Lanes(env, loop.counter, width), True)
        done = upto
    left = last - done
    with emit.when(left > 0):
        writer.chunk(Lanes(env, done, lanes, emit.mask(left, lanes)))


def _ahead(writer: ElementWriter, env: dict[int, Index], first: Index) -> Index:
    """Return the number of elements before the first aligned one."""
    emit, lanes = writer.emit, writer.lanes
    size = writer.bits(writer.flat.store) // 8
    place, _ = writer._address(writer.flat.store, Lanes(env, first))
    units = (emit.address(writer.bases[writer.flat.store]) + place * size) // size
    return -units & (lanes - 1)


def fence(emit: Emitter, writers: Sequence[ElementWriter]) -> None:
    """Fence non-temporal stores of these writers, before other threads may read them."""
    streamed = [streams(writer) for writer in writers if writer.streamed]
    condition = functools.reduce(operator.or_, streamed, False)
    if condition is not False:
        with nullcontext() if condition is True else emit.when(condition):
            emit.call_intrinsic(emit.isa.store_fence, [])


def vector_iter(flat: FlatNest, keep: int = 0) -> int | str | None:
    """Return the iterator to vectorise, None for a nest of scalars, or why there is none.

    All accesses are adjacent along it or do not move; the store moves, except that a reduction may
    go along its load.
    """
    store = flat.accesses[flat.store]
    loads = [flat.accesses[op] for op in flat.slice if op.name == "memref.load"]
    along: int | None = None
    for position in range(keep, len(flat.iters)):
        strides = [access.strides[position] for access in loads]
        if any(stride not in (0, 1) for stride in strides):
            continue
        reduction = flat.iters[position].reduction
        if not reduction and store.strides[position] == 1:
            return position
        if reduction and store.strides[position] == 0 and any(s == 1 for s in strides):
            along = position
    if along is None and len(flat.iters) > keep:
        return "no loop walks adjacent elements of all it reads and writes"
    return along


def strided_iter(
    flat: FlatNest, stores: Sequence[ir.Operation] = (), *, results: bool = False
) -> int | None:
    """Return the iterator whose steps become lanes of a reduction with strided loads.

    `stores` are those of a variadic reduction; with `results`, lanes have to be results.
    """
    written = [flat.accesses[op] for op in stores or [flat.store]]
    loads = [flat.accesses[op] for op in flat.slice if op in flat.accesses]
    reduction: list[tuple[bool, bool, int]] = []
    for position, it in enumerate(flat.iters):
        if not it.reduction and any(access.strides[position] != 1 for access in written):
            continue
        if it.reduction and not any(access.strides[position] != 0 for access in loads):
            continue
        near = all(access.strides[position].value in range(-1, MAX_STEP + 1) for access in loads)
        # Results in distant rows have cache set conflicts.
        if results and (it.reduction or not near):
            continue
        reduction.append((near, not it.reduction, position))
    return max(reduction)[2] if reduction else None


class NestWriter(ElementWriter):
    """Writes one nest, given the counters of the leading iterators."""

    # Whether `NestWriter` chooses how maps and reductions are written; subclasses that write other
    # values or loops choose themselves.
    is_plain = True
    distribution: LoopDistribution | None = None

    def write(self, counters: Sequence[Index], row: Index = 0) -> None:
        """Write the loops over the other iterators and their body.

        `row` is the last of the counters, counted from the first row of a block.
        """
        self.begin_row(len(counters) - 1, row)
        env: dict[int, Index] = dict(enumerate(counters))
        is_whole = self.is_plain and not counters and self.flat.total is not None
        if is_whole and all(it.extent.value is not None for it in self.flat.iters):
            self.fetch_all(self.machine.l3_bytes, READ_AHEAD)
        if not counters and is_split(self):
            reduce_split(self)
            return
        by_rows = False if counters else splits_rows(self)
        self.emit.choose(
            by_rows, lambda: reduce_split_rows(self), lambda: self._write(env, len(counters))
        )

    def _write(self, env: dict[int, Index], shared: int) -> None:
        """Write the loops inside the shared ones, and split them among threads."""
        emit = self.emit
        rest = [i for i in range(shared, len(self.flat.iters)) if i not in self.inner]
        free = [i for i in rest if not self.flat.iters[i].reduction]
        reductions = [i for i in rest if self.flat.iters[i].reduction]
        with ExitStack() as loops:
            split = [*free, *self._split_inside()]
            parts = [self._part(position, position in free) for position in split]
            ranges = loops.enter_context(emit.parallel_region(parts, self._work()))
            if not shared:
                loops.callback(fence, emit, [self])
            self._ranges = dict(zip(split, ranges, strict=True))
            if self.flat.total is None:
                is_whole = self.is_plain and not shared
                self.distribution = LoopDistribution.of(self) if is_whole else None
                may_fetch = is_whole and self.machine.prefetches_l3 and self.computes_functions
                if may_fetch and streams(self) is False:
                    self.fetch_all(self.machine.far_bytes)
                self._maps(env, free)
                return
            if self.is_plain and goes_in_blocks(self, free, reductions):
                env.update(self._outer_loops(loops, free[:-1]))
                reduce_blocks(self, env, reductions, free[-1])
                return
            env.update(self._outer_loops(loops, free))
            self._reduce(env, reductions)

    def _value(self, lanes: Lanes) -> ir.Value:
        if self.distribution is not None:
            return self.distribution.value(lanes)
        return super()._value(lanes)

    def _reduce(self, env: dict[int, Index], reductions: list[int]) -> None:
        """Write the reduction of a result, or of vectors of results."""
        if self.vector is not None and self.flat.iters[self.vector].reduction:
            reduce_along(self, env, reductions)
        else:
            reduce_across(self, env, reductions)

    def _maps(self, env: dict[int, Index], free: list[int]) -> None:
        """Write a map with its loops; twice if run time chooses non-temporal stores."""

        def write() -> None:
            with ExitStack() as loops:
                self._map({**env, **self._outer_loops(loops, free)})

        def copy(non_temporal: bool) -> None:
            self.non_temporal = non_temporal
            write()
            self.non_temporal = None

        condition = self._is_non_temporal() if free else False
        if isinstance(condition, bool):
            write()
        else:
            self.emit.choose(condition, partial(copy, True), partial(copy, False))

    def _is_non_temporal(self) -> bool | ir.Value:
        """Return whether a map's stores are non-temporal."""
        return streams(self)

    def _outer_loops(self, loops: ExitStack, free: list[int]) -> dict[int, Index]:
        """Write loops in the order of the stores, by blocks in the order of the loads."""
        emit = self.emit
        if self.flat.total is None and len(free) > 1:
            other = reading_order(self, free)
            if other != free:
                non_temporal = self._is_non_temporal() is True
                order = blocked_order(free, other, non_temporal=non_temporal)
                return blocked_loops(self, self._ranges, loops, order, non_temporal=non_temporal)
        ranges = [self._ranges[position] for position in free]
        counters = [loops.enter_context(emit.loop(*range_)).counter for range_ in ranges]
        return dict(zip(free, counters, strict=True))

    def fetch_result(self, position: int, far: Bool) -> None:
        """Prefetch the next row of a map's result, which plain stores read for ownership."""
        self.fetches(self.flat.written, position, far)

    def _split_inside(self) -> list[int]:
        """Return the inner iterators that threads may share."""
        if self.vector is None or self.flat.iters[self.vector].reduction:
            return []
        return [self.vector]

    def _part(self, position: int, is_outer: bool) -> ParallelDim:
        extent = self.emit.size(self.flat.iters[position].extent)
        return self.emit.shared_evenly(extent, 1 if is_outer else WIDE * self.lanes)

    def _map(self, env: dict[int, Index]) -> None:
        self.emit.choose(
            self._is_non_temporal(),
            lambda: write_streaming(self, env),
            lambda: write_cached(self, env),
        )


def _match_strided(nests: Nests) -> NestForm | str:
    flat = nests.merged
    if isinstance(flat, str) or flat.total is None:
        return flat if isinstance(flat, str) else "it reduces nothing"
    vector = strided_iter(flat)
    return "its loads have no iterator of lanes" if vector is None else NestForm(flat, vector)


# Lanes load every n-th element, backwards, or one by one.
STRIDED_REDUCTION = one_nest(
    "reduction of strided elements",
    _match_strided,
    lambda form, emit: NestWriter(form.flat, form.along, emit).write([]),
)
