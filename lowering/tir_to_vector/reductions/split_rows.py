"""Split reductions over rows that come from beyond L2: threads share parts of rows.

A part is read in memory order, with its sums in L1. Parts do not depend on the number of threads,
and are combined in order.
"""

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.index_emit import Index, Span, ceil_div
from relax_mlir.lowering.tir_to_vector.nest_elements import ElementWriter, Lanes
from relax_mlir.lowering.tir_to_vector.parallel_region import ParallelDim
from relax_mlir.lowering.tir_to_vector.reductions.reduction import combine_parts, sum_rows, sums_of

# The maximal number of parts, and the minimal rows of one.
_PIECES, _MIN_ROWS = 32, 64
# Rows that are read side by side from L3; from memory one row at a time is faster.
_TOGETHER = 4
# Bytes of the shortest and longest rows.
_SHORT, _LONG = 2 << 10, 16 << 10


def splits_rows(writer: ElementWriter) -> bool | ir.Value:
    """Return whether a nest is such a reduction; an i1 if only run time knows."""
    emit, flat, vector = writer.emit, writer.flat, writer.vector
    if flat.total is None or flat.init is None or vector is None or not writer.masked:
        return False
    if len(flat.iters) != 2 or flat.iters[vector].reduction or len(flat.slice) != 1:
        return False
    # The operand may be an expression without loads.
    if flat.slice[0] not in flat.accesses:
        return False
    if flat.value.type != flat.written.type.element_type:
        return False
    if sums_of(writer, shared=False).has_marks:
        return False
    rows, columns = _rows(writer), emit.size(flat.iters[vector].extent)
    length = columns * (writer.bits(flat.slice[0]) // 8)
    return emit.all_at_most(
        (writer.machine.far_bytes, rows * length),
        (8 * _MIN_ROWS, rows),
        (_SHORT, length),
        (length, _LONG),
    )


def reduce_split_rows(writer: ElementWriter) -> None:
    """Write such a nest with its parallel region."""
    emit, flat, vector = writer.emit, writer.flat, writer.vector
    rows, columns = _rows(writer), emit.size(flat.iters[vector].extent)
    height = emit.max(ceil_div(rows, _PIECES), _MIN_ROWS)
    pieces = ceil_div(rows, height)
    sums = emit.alloc(pieces * columns, flat.value.type)
    size = rows * columns * (writer.bits(flat.slice[0]) // 8)
    with emit.parallel_region([ParallelDim(pieces)], writer._work()) as (own,):

        def reduce(together: int) -> None:
            with emit.loop(*own) as loop:
                first = loop.counter * height
                span = (first, emit.min(first + height, rows))
                _reduce_piece(writer, span, sums, loop.counter * columns, together)

        far = size >= writer.machine.l3_bytes
        emit.choose(far, lambda: reduce(1), lambda: reduce(_TOGETHER))
    totals = sums_of(writer, shared=False)

    def finish(lanes: Lanes) -> None:
        combine_parts(
            writer, lanes, pieces, totals,
            lambda number: _load(writer, sums, number * columns, lanes),
        )  # fmt: skip

    writer._chunks(finish, {})


def _reduce_piece(
    writer: ElementWriter, span: Span, sums: ir.Value, begin: Index, together: int
) -> None:
    """Reduce some rows, several at a time, to sums in a buffer."""
    emit, totals = writer.emit, sums_of(writer, shared=False)

    def start(lanes: Lanes) -> None:
        put(totals.neutral(lanes.count), lanes)

    def put(total: ir.Value, lanes: Lanes) -> None:
        emit.vector_store(total, sums, [begin + lanes.at], lanes.mask)

    writer._chunks(start, {})

    def get(lanes: Lanes) -> ir.Value:
        return _load(writer, sums, begin, lanes)

    sum_rows(writer, {}, 1 - writer.vector, span, together, get, put)


def _rows(writer: ElementWriter) -> Index:
    return writer.emit.size(writer.flat.iters[1 - writer.vector].extent)


def _load(writer: ElementWriter, sums: ir.Value, begin: Index, lanes: Lanes) -> ir.Value:
    type_ = ir.VectorType.get([lanes.count], writer.flat.value.type)
    return writer.emit.vector_load(sums, [begin + lanes.at], type_, lanes.mask)
