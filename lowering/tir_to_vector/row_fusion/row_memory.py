"""Rows that nests share: the memory between nests, blocks of rows, and software pipelining."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.lowering.tir_to_vector.analysis import Access, is_used_only_in
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.flat import (
    FlatNest,
    collapse,
    inner_dims,
    is_one_walk,
    merge,
)
from relax_mlir.lowering.tir_to_vector.index_emit import Bool, Index, Span
from relax_mlir.lowering.tir_to_vector.nest_cost import has_functions
from relax_mlir.lowering.tir_to_vector.nest_elements import WIDE, Lanes, times_extents
from relax_mlir.lowering.tir_to_vector.vector_nest import NestWriter, begin_streaming, end_streaming
from relax_mlir.lowering.walk import defining_op

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


@dataclass(frozen=True)
class Overwritten:
    """A result that earlier nests use as a buffer before the last one writes it.

    Attributes:
        buffer: the result.
        size: elements of a row.
        store: the final store.
    """

    buffer: ir.Value
    size: SymExpr
    store: ir.Operation


def accesses_of(flat: FlatNest) -> list[Access]:
    """Return the loads and stores of a nest, as in its block."""
    return [*flat.nest.loads, *flat.nest.stores]


def shared_buffers(group: list[FlatNest]) -> list[ir.Value]:
    """Return the buffers that one nest writes and another uses."""
    result = []
    for flat in group:
        others = [other for other in group if other is not flat]
        used = [access.buffer for other in others for access in accesses_of(other)]
        if flat.written in used and flat.written not in result:
            result.append(flat.written)
    return result


def outer_places(flat: FlatNest, access: Access, count: int) -> tuple[int, ...] | None:
    """Return for each shared loop the one dimension that only its counter indexes."""
    nest = flat.nest
    order = nest.order
    places = []
    for position in order[:count]:
        using = access.dims_of_iter(position)
        if len(using) != 1 or access.iters[using[0]] != position:
            return None
        places.append(using[0])
    return tuple(places)


def kept_rows(group: list[FlatNest], count: int) -> dict[ir.Value, SymExpr]:
    """Return the buffers that only these nests use, row by row, and the size of a row."""
    kept: dict[ir.Value, SymExpr] = {}
    for buffer in shared_buffers(group):
        if defining_op(buffer, "memref.alloc") is not None and _by_rows(group, buffer, count):
            kept[buffer] = product(inner_dims(buffer)[count - 1 :])
    return kept


def overwritten_rows(group: list[FlatNest], count: int) -> list[Overwritten]:
    """Return the results that the last nest writes in full, and earlier ones before reading."""
    result = []
    for buffer in shared_buffers(group):
        if defining_op(buffer) is not None or not _by_rows(group, buffer, count):
            continue
        using = [flat for flat in group if any(a.buffer == buffer for a in accesses_of(flat))]
        first, last = using[0], using[-1]
        size = product(inner_dims(buffer)[count - 1 :])
        read = any(load.buffer == buffer for load in first.nest.loads)
        filled = all(_fills(flat, buffer, size, count) for flat in (first, last))
        if first is not last and not read and filled:
            result.append(Overwritten(buffer, size, last.store))
    return result


def _fills(flat: FlatNest, buffer: ir.Value, size: SymExpr, count: int) -> bool:
    """Whether a nest writes every element of a row of a buffer."""
    inner = collapse(flat, count)
    store = inner.accesses[inner.store]
    return (
        flat.total is None
        and store.buffer == buffer
        and store.offset == _ZERO
        and store.strides[count:] == [_ONE]
        and inner.iters[count].extent == size
    )


def _by_rows(group: list[FlatNest], buffer: ir.Value, count: int) -> bool:
    """Whether only these nests use a buffer, and their loops walk its first dimensions."""
    if not is_used_only_in(buffer, [flat.nest for flat in group]):
        return False
    flat, access = next((f, a) for f in group for a in accesses_of(f) if a.buffer == buffer)
    return outer_places(flat, access, count) == tuple(range(count))


def on_rows(
    flat: FlatNest, kept: dict[ir.Value, SymExpr], count: int, but: tuple[ir.Operation, ...] = ()
) -> FlatNest:
    """Return a nest whose kept buffers have the rows of a block, except for one access."""
    accesses = {
        op: replace(
            access,
            strides=[_ZERO] * (count - 1) + [kept[access.buffer], *access.strides[count:]],
            in_rows=True,
        )
        if access.buffer in kept and op not in but
        else access
        for op, access in flat.accesses.items()
    }
    return replace(flat, accesses=accesses)


def without_overwriting(
    group: list[FlatNest], overwritten: list[Overwritten], count: int
) -> list[FlatNest]:
    """Return nests that use other buffers for rows, so that results are written once."""
    for each in overwritten:
        group = [on_rows(flat, {each.buffer: each.size}, count, (each.store,)) for flat in group]
        group = [replace(f, final=True) if f.store == each.store else f for f in group]
    return group


def placed(flat: FlatNest, rows: dict[ir.Value, ir.Value]) -> FlatNest:
    """Return a nest that uses these buffers for rows."""
    accesses = {
        op: replace(access, buffer=rows[access.buffer]) if access.in_rows else access
        for op, access in flat.accesses.items()
    }
    return replace(flat, accesses=accesses)


# The maximal rows of a block, and elements of a buffer on the stack.
_MAX_ROWS = 16
_SMALL = 256


def row_length(group: list[FlatNest], count: int, emit: Emitter) -> Index:
    """Return the bytes of a row of all buffers of the nests."""
    lengths: dict[ir.Value, Index] = {}
    for flat in group:
        for access in flat.accesses.values():
            stride = emit.size(access.strides[count - 1])
            if stride != 0 and access.buffer not in lengths:
                width = max(8, access.buffer.type.element_type.width) // 8
                lengths[access.buffer] = stride * width
    return sum(lengths.values(), 1)


def come_from_memory(
    group: list[FlatNest], count: int, length: Index, over: list[Overwritten], emit: Emitter
) -> tuple[Bool, Bool]:
    """Return whether rows come from beyond all caches, and go one at a time; or only beyond L2.

    The second is false where such rows are not to be prefetched. Slow functions hide plain stores,
    as long as the cache has a part of them. Nests that overwrite their result store it once then,
    with a buffer of one row.
    """
    total = times_extents(emit, group[0].iters[:count], length)
    slow = any(map(has_functions, group))
    least = emit.machine.min_non_temporal_bytes(True, slow=slow)
    limits: list[Span] = [(least, total)]
    for each in over:
        limits += [(length, emit.machine.l2_bytes), (MIN_PIPELINED_ELEMENTS, emit.size(each.size))]
    far = emit.all_at_most(*limits)
    if not emit.machine.prefetches_l3:
        return far, False
    return far, emit.all_at_most((emit.machine.far_bytes, total))


def rows_together(group: list[FlatNest], length: Index, emit: Emitter) -> Index:
    """Return how many rows go together: as many as fit half of L1.

    Rows from memory go one at a time, so that memory is always busy.
    """
    if not any(flat.total is not None for flat in group):
        return 1
    return emit.max(emit.min(emit.machine.l1_bytes // 2 // length, _MAX_ROWS), 1)


def size_of_rows(row: SymExpr, block: Index, emit: Emitter) -> Index:
    """Return the size of a buffer for a block of rows; it is static if it fits the stack."""
    size = emit.size(row)
    known = isinstance(size, int) and size * _MAX_ROWS <= _SMALL
    return size * (_MAX_ROWS if known else block)


def merge_shared(group: list[FlatNest], count: int) -> tuple[list[FlatNest], int]:
    """Merge shared loops that all accesses walk as one."""
    for position in reversed(range(count - 1)):
        if all(is_one_walk(flat, position, rows=True) for flat in group):
            group = [merge(flat, position) for flat in group]
            count -= 1
    return group, count


# Rows of a buffer between the nests, and the minimal elements of a row.
ROWS, MIN_PIPELINED_ELEMENTS = 2, 256


@dataclass
class SoftwarePipelinedRows:
    """Nests whose last, a map with non-temporal stores, is a row behind the others.

    It is in the loop of a reduction that computes functions: its stores wait for memory, functions
    do not.

    Attributes:
        before: the nests up to that reduction.
        host: the reduction.
        after: those between it and the last.
        last: the map.
    """

    before: Sequence[NestWriter]
    host: NestWriter
    after: Sequence[NestWriter]
    last: NestWriter

    @staticmethod
    def of(writers: Sequence[NestWriter], *, long: bool) -> "SoftwarePipelinedRows | None":
        """Return nests in this form, None without such a reduction or map.

        With `long`, dynamic rows have at least `MIN_PIPELINED_ELEMENTS` elements.
        """
        *others, last = writers
        if type(last) is not NestWriter or last.vector is None or last.non_temporal is not True:
            return None
        extent = last.flat.iters[last.vector].extent
        if not long if extent.value is None else extent.value < MIN_PIPELINED_ELEMENTS:
            return None
        if last.flat.total is not None or len(last.flat.iters) != 2:
            return None
        for number, writer in enumerate(others):
            if not writer.computes_functions or writer.vector is None:
                continue
            along = writer.flat.iters[writer.vector]
            same = along.extent == extent and writer.lanes == last.lanes
            if same and along.reduction and len(writer.flat.iters) == 2:
                return SoftwarePipelinedRows(others[:number], writer, others[number + 1 :], last)
        return None

    def write(self, first: Index, end: Index) -> None:
        """Write the loop over a range of rows.

        The first iteration stores a row that is not computed yet, which is stored again later.
        """
        emit = self.last.emit
        with emit.loop(first, end) as loop:
            row = loop.counter
            before = row - 1
            for writer in self.before:
                writer.write([row], self._place(row))
            self._write_pipelined(emit.max(before, first), before, row)
            for writer in self.after:
                writer.write([row], self._place(row))
        with emit.when(emit.compare("slt", first, end)):
            row = end - 1
            self.last.write([row], self._place(row))

    def _write_pipelined(self, late: Index, before: Index, row: Index) -> None:
        """Write the reduction of a row, and in its loop the map of an earlier one."""
        emit, last = self.last.emit, self.last
        last.begin_row(0, self._place(before))
        extent = emit.size(last.flat.iters[last.vector].extent)
        wide = WIDE * last.lanes
        env = {0: late}
        start = begin_streaming(last, env, (0, extent))
        upto = start + emit.round_down(extent - start, wide)
        most = upto - wide

        def step(at: Index) -> None:
            last.chunk(Lanes(env, emit.min(start + at, most), wide), True)

        self.host.also = step
        self.host.write([row], self._place(row))
        self.host.also = None
        end_streaming(last, env, (upto, extent), (last.lanes,))

    def _place(self, row: Index) -> Index:
        """Return the place of a row."""
        return row & (ROWS - 1)
