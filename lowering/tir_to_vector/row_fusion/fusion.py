"""Row fusion: several nests for each row, or for a block of rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_llvm.math.value_ranges import UP_TO_ZERO
from relax_mlir.lowering.tir_to_vector.analysis import is_adjacent
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatNest, collapse
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span
from relax_mlir.lowering.tir_to_vector.kernel_class import Candidate, KernelClass, Nests, Problem
from relax_mlir.lowering.tir_to_vector.nest_cost import nest_work, total_work
from relax_mlir.lowering.tir_to_vector.nest_elements import Lanes, work_of
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.row_fusion.row_memory import (
    ROWS,
    SoftwarePipelinedRows,
    accesses_of,
    come_from_memory,
    kept_rows,
    merge_shared,
    on_rows,
    outer_places,
    overwritten_rows,
    placed,
    row_length,
    rows_together,
    shared_buffers,
    size_of_rows,
    without_overwriting,
)
from relax_mlir.lowering.tir_to_vector.row_fusion.split_row import SplitRow, split_row
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, fence, streams, vector_iter
from relax_mlir.lowering.walk import defining_op, root


def fuse_producers(writers: Sequence[NestWriter]) -> list[NestWriter]:
    """Return equivalent writers in which maps are fused into the reductions over their results."""
    result: list[NestWriter] = []
    for writer in writers:
        if result and _is_fusible_producer(result[-1], writer):
            made = result[-1].flat.accesses[result[-1].flat.store]
            others = [other.flat for other in writers if other not in (writer, result[-1])]
            read = any(_loads_of(flat, made.buffer) for flat in others)
            result[-1] = ProducerFusedReduction(writer, result[-1], stores=read or not made.in_rows)
        else:
            result.append(writer)
    return result


class ProducerFusedReduction(NestWriter):
    """Writes a reduction that computes a map instead of loading its results.

    It is made of writers of both; with `stores` the map's results are stored for others.
    """

    is_plain = False

    def __init__(self, reduction: NestWriter, producer: NestWriter, *, stores: bool) -> None:
        super().__init__(reduction.flat, reduction.vector, reduction.emit)
        self._producer, self._stores = producer, stores
        self._producer_loads = _loads_of(self.flat, producer.flat.written)

    @property
    def computes_functions(self) -> bool:
        """Whether it or the map computes elementary functions."""
        return super().computes_functions or self._producer.computes_functions

    def fetch_result(self, position: int, far: Bool) -> None:
        """Prefetch what the map writes."""
        self._producer.fetch_result(position, far)

    def fetches(self, buffer: ir.Value, position: int, far: Bool) -> bool:
        """Prefetch a buffer, for the map too."""
        result = self._producer.fetches(buffer, position, far)
        return result or super().fetches(buffer, position, far)

    def begin_row(self, position: int, row: Index) -> None:
        """Set the row in a block of rows, for the map too."""
        super().begin_row(position, row)
        self._producer.begin_row(position, row)

    def _value(self, lanes: Lanes) -> ir.Value:
        value = self._producer._value(lanes)
        if self._stores:
            self._producer._put(value, lanes)
        self._known = dict.fromkeys(self._producer_loads, value)
        try:
            return super()._value(lanes)
        finally:
            self._known = {}

    def _get(self, op: ir.Operation, lanes: Lanes) -> ir.Value:
        known = self._known.get(op)
        return super()._get(op, lanes) if known is None else known


def _loads_of(flat: FlatNest, buffer: ir.Value) -> list[ir.Operation]:
    return [op for op in flat.slice if op in flat.accesses and flat.accesses[op].buffer == buffer]


def _is_fusible_producer(producer: NestWriter, reduction: NestWriter) -> bool:
    """Whether each step of a reduction loads what the same step of a map stores."""
    made, used = producer.flat, reduction.flat
    if type(producer) is not NestWriter or made.total is not None or used.total is None:
        return False
    vector = reduction.vector
    if vector is None or vector != producer.vector or not used.iters[vector].reduction:
        return False
    steps = [it.extent for it in made.iters] == [it.extent for it in used.iters]
    same = (producer.lanes, producer.masked) == (reduction.lanes, reduction.masked)
    if (
        not steps
        or not same
        or any(made.accesses[op].buffer == used.written for op in made.slice if op in made.accesses)
    ):
        return False
    loads, store = _loads_of(used, made.written), made.accesses[made.store]
    return bool(loads) and all(
        (used.accesses[op].offset, used.accesses[op].strides) == (store.offset, store.strides)
        for op in loads
    )


# The cost of an element, in the unit of `MIN_PARALLEL_WORK`.
_ELEMENT_WORK = 16


def shared_loops(group: list[FlatNest]) -> int:
    """Return how many outer loops nests can share, 0 for none.

    Each step must use slices of the buffers between them that no other step uses, and each nest
    must have vector code inside.
    """
    count = 0
    for iters in zip(*(flat.iters for flat in group), strict=False):
        if any(it.reduction or it.extent != iters[0].extent for it in iters):
            break
        count += 1
    while count and not _vectorize(group, count):
        count -= 1
    while count and not _rows_are_independent(group, count):
        count -= 1
    return count


def _vectorize(group: list[FlatNest], keep: int) -> bool:
    """Whether each nest has vector code inside shared loops; some may be scalars there."""
    result = [vector_iter(collapse(flat, keep), keep) for flat in group]
    return any(isinstance(along, int) for along in result) and not any(
        isinstance(along, str) for along in result
    )


def _rows_are_independent(group: list[FlatNest], count: int) -> bool:
    shared = shared_buffers(group)
    buffers = {access.buffer for flat in group for access in accesses_of(flat)}
    # Two views of one buffer may alias at different indices.
    if not shared or len({root(buffer) for buffer in buffers}) != len(buffers):
        return False
    for buffer in shared:
        places = {
            outer_places(flat, access, count)
            for flat in group
            for access in accesses_of(flat)
            if access.buffer == buffer
        }
        if len(places) != 1 or None in places:
            return False
    return True


def _match(nests: Nests) -> Problem | str:
    if isinstance(nests.flat, str) or isinstance(nests.merged, str):
        return nests.flat if isinstance(nests.flat, str) else ""
    along = vector_iter(nests.merged)
    return along if isinstance(along, str) else Problem([nests.nest], [nests.flat])


def _join(before: Problem, problem: Problem) -> Problem | None:
    flats = [*before.form, *problem.form]
    if is_adjacent(before.nests[-1].top, problem.nests[0].top) and shared_loops(flats):
        return Problem([*before.nests, *problem.nests], flats)
    return None


def _candidates(problem: Problem, machine: Machine) -> list[Candidate]:
    flats: list[FlatNest] = problem.form
    count = shared_loops(flats) if len(flats) > 1 else 0
    return [
        Candidate(
            "rows in turn" if count else "vectors",
            lambda emit, _: emit_fused(flats, count, emit),
            lambda size: total_work(nest_work(flat, machine, size) for flat in flats),
        )
    ]


ROW_FUSION = KernelClass("maps and reductions", _match, _candidates, join=_join)


def _mark_differences(group: list[FlatNest]) -> None:
    """Mark what is left of numbers less the greatest of them: their exponentials are quick."""
    for place, peak in enumerate(group):
        if peak.total is None or peak.combiner != "arith.maximumf":
            continue
        number, most = _loaded(peak, peak.value), peak.accesses[peak.store]
        extents = [it.extent for it in peak.iters]
        for flat in group[place + 1 :]:
            if number is None or flat.written == number.buffer:
                break
            for op in flat.slice if extents == [it.extent for it in flat.iters] else ():
                if op.name == "arith.subf" and [_loaded(flat, value) for value in op.operands] == [
                    number,
                    most,
                ]:
                    op.attributes[UP_TO_ZERO] = ir.UnitAttr.get()


def _loaded(flat: FlatNest, value: ir.Value) -> FlatAccess | None:
    """Return where a value is loaded from, exactly converted or not; None if it is computed."""
    widened = defining_op(value, "arith.extf")
    op = defining_op(value if widened is None else widened.operands[0], "memref.load")
    return None if op is None else flat.accesses.get(op)


def emit_fused(group: list[FlatNest], count: int, emit: Emitter) -> None:
    """Write nests inside shared outer loops at the insertion point."""
    _mark_differences(group)
    if not count:
        for writer in _writers(group, 0, emit):
            writer.write([])
        return
    kept = kept_rows(group, count)
    over = overwritten_rows(group, count)
    group = [on_rows(flat, kept, count) for flat in group]
    group, count = merge_shared(group, count)
    length = row_length(group, count, emit)
    far, prefetched = come_from_memory(group, count, length, over, emit)
    dims = [emit.shared_evenly(emit.size(it.extent)) for it in group[0].iters[:count]]
    work = sum(work_of(emit, flat, _ELEMENT_WORK) for flat in group)
    near = rows_together(group, length, emit)
    # Rows from memory go one at a time, with non-temporal stores; rows in cache go by blocks. If
    # only run time knows where rows come from, there is code for both.
    sums = any(flat.total is not None for flat in group)
    block: Index = 1 if far is True else near
    most = block if far is False else emit.max(block, ROWS)
    sizes = {buffer: size_of_rows(size, most, emit) for buffer, size in kept.items()}
    for each in over if far is not False else ():
        size = size_of_rows(each.size, ROWS, emit)
        sizes[each.buffer] = size if far is True else emit.select(far, size, 1)
    row = split_row(group, count)

    def separately() -> None:
        with emit.parallel_region(dims, work) as ranges:
            shared = {
                buffer: emit.alloc(size, buffer.type.element_type)
                for buffer, size in sizes.items()
                if not isinstance(size, int)
            }

            def write(block: Index, far: bool) -> None:
                nests = without_overwriting(group, over, count) if far else group
                rows = {
                    buffer: shared.get(buffer) or emit.alloc(size, buffer.type.element_type)
                    for buffer, size in sizes.items()
                    if far or buffer in kept
                }
                nests = [placed(flat, rows) for flat in nests]
                writers = _writers(nests, count, emit, near=not far)
                for writer in writers:
                    writer.long = row
                if far or prefetched is not False:
                    _stream_rows(writers, count, far or prefetched, sure=far and sums)
                late = (
                    SoftwarePipelinedRows.of(writers, long=bool(over))
                    if far and len(ranges) == 1
                    else None
                )
                if late is None:
                    _rows(ranges, [], writers, emit, block)
                else:
                    late.write(*ranges[0])
                fence(emit, writers)

            if isinstance(far, bool) or not sums:
                write(block, far is not False)
            else:
                emit.choose(far, lambda: write(1, True), lambda: write(near, False))

    rows = emit.size(group[0].iters[0].extent)
    if row is None or emit.threads == 1 or count != 1:
        separately()
    else:
        together = partial(_together, group, kept, row, emit, work)
        emit.choose(rows < emit.threads, together, separately)


def _together(
    group: list[FlatNest], kept: dict[ir.Value, SymExpr], row: SplitRow, emit: Emitter, work: Index
) -> None:
    """Write nests over fewer rows than threads: threads share each row."""
    rows = emit.size(group[0].iters[0].extent)
    sums = {
        flat.store: emit.alloc(row.pieces, flat.value.type)
        for flat in group
        if flat.total is not None
    }
    with emit.parallel_region([ParallelDim(row.pieces)], work) as (own,):
        places = {
            buffer: emit.alloc(size_of_rows(size, 1, emit), buffer.type.element_type)
            for buffer, size in kept.items()
        }
        nests = [placed(flat, places) for flat in group]
        length = row_length(group, 1, emit)
        most = length * (emit.threads - 1)
        near = isinstance(most, int) and most <= emit.machine.l2_bytes
        writers = _writers(nests, 1, emit, near=near)
        for writer in writers:
            writer.long = replace(row, own=own, sums=sums.get(writer.flat.store))
        with emit.loop(0, rows) as loop:
            for writer in writers:
                writer.write([loop.counter])
            if rows != 1:
                emit.wait()
        fence(emit, writers)


def _writers(
    group: list[FlatNest], count: int, emit: Emitter, *, near: bool = False
) -> list[NestWriter]:
    writers = []
    for flat in group:
        inner = collapse(flat, count)
        along = vector_iter(inner, count)
        assert not isinstance(along, str), along  # or the nest would not have come here
        writers.append(NestWriter(inner, along, emit, near=near))
    return fuse_producers(writers)


def _stream_rows(writers: list[NestWriter], count: int, far: Bool, *, sure: bool) -> None:
    """Prefetch later rows, if there are any, and store results non-temporally.

    One nest after the first prefetches: the one with functions, else the last.

    With `far` rows come from beyond L2, with `sure` from memory whenever this code runs.
    """
    first, *others = writers
    others = sorted(reversed(others), key=lambda writer: not writer.computes_functions)
    is_one = first.flat.iters[count - 1].extent == 1
    buffers = () if is_one else (access.buffer for access in first.flat.accesses.values())
    for buffer in dict.fromkeys(buffers):
        for writer in others:
            if writer.fetches(buffer, count - 1, far):
                break
    for writer in writers:
        if streams(writer) is False:
            # What it reads and overwrites is in cache.
            if not is_one and not _loads_of(writer.flat, writer.flat.written):
                writer.fetch_result(count - 1, far)
        elif sure:
            writer.non_temporal = True


def _rows(
    ranges: list[Span],
    counters: list[Index],
    writers: list[NestWriter],
    emit: Emitter,
    block: Index,
) -> None:
    """Write the shared loops; the innermost goes by blocks of rows, each through all nests.

    The end of one row's sum, which waits for latency, overlaps with the next row.
    """
    first, last = ranges[len(counters)]
    if len(counters) < len(ranges) - 1:
        with emit.loop(first, last) as loop:
            _rows(ranges, [*counters, loop.counter], writers, emit, block)
        return
    with emit.loop(first, last, block) as loop:
        start = loop.counter
        if block == 1:
            for writer in writers:
                writer.write([*counters, start])
            return
        here = emit.min(start + block, last) - start
        for writer in writers:
            with emit.loop(0, here) as row:
                writer.write([*counters, start + row.counter], row.counter)
