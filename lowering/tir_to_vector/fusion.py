"""Running several nests row by row: what one writes is in the cache when the next reads it."""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr, product
from relax_mlir.lowering.tir_to_vector.analysis import Access
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.fed import feed
from relax_mlir.lowering.tir_to_vector.flat import FlatNest, collapse, inner_dims, root
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.long_rows import LongRow, long_row
from relax_mlir.lowering.tir_to_vector.machine import Machine
from relax_mlir.lowering.tir_to_vector.row_blocks import (
    comes_from_afar,
    merge_shared,
    row_length,
    rows_together,
    size_of_rows,
)
from relax_mlir.lowering.tir_to_vector.streaming import fence
from relax_mlir.lowering.tir_to_vector.team import Part
from relax_mlir.lowering.tir_to_vector.vector_nest import (
    NestWriter,
    has_functions,
    vector_iter,
    work_of,
)

# What an element takes, in the terms of `LEAST_WORK`, and how many rows each thread should have.
_ELEMENT_WORK = 16
_STEPS_EACH = 4


def shared_loops(group: list[FlatNest]) -> int:
    """Return how many outer loops nests can share, 0 when they must run one after the other.

    They can where each step touches slices of the buffers that go between them which no other step
    touches, and where each nest can still be vectorised inside.
    """
    count = min(len(flat.iters) for flat in group)
    for position in range(count):
        first = group[0].iters[position]
        if any(
            flat.iters[position].reduction or flat.iters[position].extent != first.extent
            for flat in group
        ):
            count = position
            break
    while count and not _vectorize(group, count):
        count -= 1
    while count and not _rows_apart(group, count):
        count -= 1
    return count


def _vectorize(group: list[FlatNest], keep: int) -> bool:
    """Whether each nest has a vector form inside shared loops; some may be one element there."""
    found = [vector_iter(collapse(flat, keep), keep) for flat in group]
    return any(isinstance(along, int) for along in found) and not any(
        isinstance(along, str) for along in found
    )


def _rows_apart(group: list[FlatNest], count: int) -> bool:
    shared = _shared_buffers(group)
    buffers = {access.buffer for flat in group for access in _accesses(flat)}
    # Two views of one buffer: who touches what is not seen by comparing places.
    if not shared or len({root(buffer) for buffer in buffers}) != len(buffers):
        return False
    for buffer in shared:
        places = {
            _outer_places(flat, access, count)
            for flat in group
            for access in _accesses(flat)
            if access.buffer == buffer
        }
        if len(places) != 1 or None in places:
            return False
    return True


def _shared_buffers(group: list[FlatNest]) -> list[ir.Value]:
    """Return the buffers that one nest writes and another uses."""
    found = []
    for flat in group:
        others = [other for other in group if other is not flat]
        used = [access.buffer for other in others for access in _accesses(other)]
        if flat.written in used and flat.written not in found:
            found.append(flat.written)
    return found


def _accesses(flat: FlatNest) -> list[Access]:
    return [*flat.nest.loads, *flat.nest.stores]


def _outer_places(flat: FlatNest, access: Access, count: int) -> tuple[int, ...] | None:
    """Return for each shared loop the one dimension that its counter alone indexes."""
    nest = flat.nest
    order = sorted(range(len(nest.types)), key=lambda i: nest.loop_of[i])
    places = []
    for position in order[:count]:
        using = access.dims_of_iter(position)
        if len(using) != 1 or access.iters[using[0]] != position:
            return None
        places.append(using[0])
    return tuple(places)


def emit_fused(group: list[FlatNest], count: int, emit: Emitter, machine: Machine) -> None:
    """Write nests inside shared outer loops at the insertion point."""
    if not count:
        for writer in _writers(group, 0, emit, machine):
            writer.write([])
        return
    kept = _kept_rows(group, count)
    group = [_on_rows(flat, kept, count) for flat in group]
    group, count = merge_shared(group, count)
    length = row_length(group, count, emit)
    far = comes_from_afar(group, count, length, emit, machine)
    parts = [
        Part(emit.size(it.extent), 1, _STEPS_EACH * emit.threads) for it in group[0].iters[:count]
    ]
    work: Index = 0
    for flat in group:
        work = emit.add(work, work_of(emit, flat, _ELEMENT_WORK))
    near = rows_together(group, length, emit, machine)
    # What goes between nests of single rows stays in registers, if the code says that rows are
    # single; and code for rows near by neither fetches nor stores past the cache. So where it is
    # not known before where sums' rows come from there is code for both.
    sums = any(flat.total is not None for flat in group)
    block: Index = 1 if far is True else near
    sizes = [size_of_rows(size, block, emit) for size in kept.values()]
    row = long_row(group, count)

    def apart() -> None:
        with emit.team(parts, work) as ranges:
            shared = [
                None if isinstance(size, int) else emit.alloc(size, buffer.type.element_type)
                for buffer, size in zip(kept, sizes, strict=True)
            ]

            def write(block: Index, far: bool) -> None:
                rows = {
                    buffer: emit.alloc(size, buffer.type.element_type) if one is None else one
                    for buffer, size, one in zip(kept, sizes, shared, strict=True)
                }
                placed = [_placed(flat, rows) for flat in group]
                writers = _writers(placed, count, emit, machine, near=not far)
                for writer in writers:
                    writer.long = row
                if far and (machine.fma_units > 1 or not any(map(has_functions, group))):
                    _prefetch(writers, count, block)
                _rows(ranges, [], writers, emit, block)
                fence(emit, writers)

            if isinstance(far, bool) or not sums:
                write(block, far is not False)
                return
            with emit.when(far) as branch:
                write(1, True)
            with emit.otherwise(branch):
                write(near, False)

    rows = emit.size(group[0].iters[0].extent)
    many = isinstance(rows, int) and rows >= emit.threads
    if row is None or emit.threads == 1 or count != 1 or many:
        apart()
    elif isinstance(rows, int):
        _together(group, kept, row, emit, machine, work)
    else:
        with emit.when(emit.compare("slt", rows, emit.threads)) as branch:
            _together(group, kept, row, emit, machine, work)
        with emit.otherwise(branch):
            apart()


def _together(
    group: list[FlatNest], kept: dict[ir.Value, SymExpr], row: LongRow, emit: Emitter,
    machine: Machine, work: Index,
) -> None:  # fmt: skip
    """Write nests over fewer rows than threads: one row at a time, a part of it on each thread."""
    rows = emit.size(group[0].iters[0].extent)
    sums = {
        flat.store: emit.alloc(row.pieces, flat.value.type)
        for flat in group
        if flat.total is not None
    }
    with emit.team([Part(row.pieces)], work) as (own,):
        places = {
            buffer: emit.alloc(size_of_rows(size, 1, emit), buffer.type.element_type)
            for buffer, size in kept.items()
        }
        placed = [_placed(flat, places) for flat in group]
        length = row_length(group, 1, emit)
        most = emit.mul(length, emit.threads - 1)
        near = isinstance(most, int) and most <= machine.l2_bytes
        writers = _writers(placed, 1, emit, machine, near=near)
        for writer in writers:
            writer.long = replace(row, own=own, sums=sums.get(writer.flat.store))
        with emit.loop(0, rows) as loop:
            for writer in writers:
                writer.write([loop.counter])
            if rows != 1:
                emit.wait()
        fence(emit, writers)


def _writers(
    group: list[FlatNest], count: int, emit: Emitter, machine: Machine, *, near: bool = False
) -> list[NestWriter]:
    writers = []
    for flat in group:
        inner = collapse(flat, count)
        along = vector_iter(inner, count)
        assert not isinstance(along, str), along  # or the nest would not have come here
        writers.append(NestWriter(inner, along, emit, machine, near=near))
    return feed(writers)


def _prefetch(writers: list[NestWriter], count: int, block: Index) -> None:
    """Have what the next block reads and writes fetched while another nest computes.

    That is not for functions on a core with one unit for multiply-adds: it takes so long for a row
    that the hardware has the next one by then, and to fetch it too only delays what is stored.
    """
    first = writers[0].flat
    for buffer in dict.fromkeys(access.buffer for access in first.accesses.values()):
        for writer in writers[1:]:
            if writer.fetches(buffer, count - 1, block):
                break
    for writer in writers:
        writer.fetch_result(count - 1, block)


def _rows(
    ranges: list[tuple[Index, Index]],
    counters: list[Index],
    writers: list[NestWriter],
    emit: Emitter,
    block: Index,
) -> None:
    """Write the shared loops; the innermost goes by blocks of rows, through each nest at a time.

    What a nest computes of one row waits for itself at the end of each sum; with several rows the
    processor has something else to do meanwhile.
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
        here = emit.sub(emit.min(emit.add(start, block), last), start)
        for writer in writers:
            with emit.loop(0, here) as row:
                writer.write([*counters, emit.add(start, row.counter)], row.counter)


def _kept_rows(group: list[FlatNest], count: int) -> dict[ir.Value, SymExpr]:
    """Return the buffers that only these nests use, row by row, and the size of a row."""
    kept: dict[ir.Value, SymExpr] = {}
    for buffer in _shared_buffers(group):
        owner = buffer.owner
        if isinstance(owner, ir.Block) or owner.operation.name != "memref.alloc":
            continue
        if not _only_used_by(group, buffer):
            continue
        flat, access = next(
            (flat, a) for flat in group for a in _accesses(flat) if a.buffer == buffer
        )
        if _outer_places(flat, access, count) == tuple(range(count)):
            kept[buffer] = product(inner_dims(buffer)[count - 1 :])
    return kept


def _only_used_by(group: list[FlatNest], buffer: ir.Value) -> bool:
    blocks = [flat.nest.block for flat in group]
    users = [_block_of(use.owner.operation) for use in buffer.uses]
    # What has been lowered already is in no block; an operation does not compare with None.
    return all(user is not None and user in blocks for user in users)


def _block_of(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent
    while parent is not None and parent.operation.name != "tir.block":
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def _on_rows(flat: FlatNest, kept: dict[ir.Value, SymExpr], count: int) -> FlatNest:
    """Return a nest whose kept buffers have but the rows of a block."""
    zero = SymExpr.const(0)
    accesses = {
        op: replace(
            access,
            strides=[zero] * (count - 1) + [kept[access.buffer], *access.strides[count:]],
            in_rows=True,
        )
        if access.buffer in kept
        else access
        for op, access in flat.accesses.items()
    }
    return replace(flat, accesses=accesses)


def _placed(flat: FlatNest, rows: dict[ir.Value, ir.Value]) -> FlatNest:
    accesses = {
        op: replace(access, buffer=rows[access.buffer]) if access.in_rows else access
        for op, access in flat.accesses.items()
    }
    return replace(flat, accesses=accesses)
