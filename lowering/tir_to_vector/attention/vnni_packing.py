"""Packing of bfloat16 operands in VNNI layout: pairs for a dot-product instruction.

A pair is moved as one 32-bit float. Queries and keys are paired along the head dimension, values
along keys; an odd element is paired with zero.
"""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.attention.pattern import Attention
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic, Matrix, Rows
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import DotProduct, bf16_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.panel_loads import PanelLoad
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile

PAIR = 2
_FIRST = 0xFFFF  # the bits of a pair's first number


def find_pair_dot_product(attention: Attention, machine: Machine) -> DotProduct | None:
    """Return the dot-product instruction of an attention's operands, None for none."""
    places = (attention.query, attention.key, attention.value)
    narrow = all(isinstance(place.buffer.type.element_type, ir.BF16Type) for place in places)
    if not (narrow and isinstance(attention.element, ir.F32Type)):
        return None
    if any(place.column != 1 for place in places):
        return None
    return bf16_dot_product(machine)


def count_pairs(emit: Emitter, count: Index) -> Index:
    """Return the number of pairs of `count` elements."""
    return emit.div(emit.add(count, PAIR - 1), PAIR)


class FirstsOfPairs(PanelLoad):
    """Loads vectors of pairs with zeros as the second of each."""

    def vector(
        self, emit: Emitter, base: ir.Value, at: Index, type_: ir.VectorType, step: Index,
        column: Index,
    ) -> ir.Value:  # fmt: skip
        """Return adjacent pairs as a vector of words, as `PanelLoad.vector` does."""
        stored = ir.VectorType.get(type_.shape, base.type.element_type)
        bits = emit.op("vector.bitcast", [emit.vector_load(base, [at], stored)], type_)
        return emit.op("arith.andi", [bits, emit.constant(type_, _FIRST)], type_)


def narrowed_pairs(use: Arithmetic, value: ir.Value) -> ir.Value:
    """Return a vector of floats as half a vector of pairs."""
    emit, lanes = use.emit, use.lanes
    narrow = emit.op("arith.truncf", [value], ir.VectorType.get([lanes], ir.BF16Type.get()))
    return emit.op(
        "vector.bitcast", [narrow], ir.VectorType.get([lanes // PAIR], use.vector.element_type)
    )


def copy_row_pairs(x: Matrix, rows: Rows, columns: Index, to: ir.Value, stride: Index) -> None:
    """Copy rows as pairs; `stride` counts pairs, and up to a vector more is written."""
    emit = x.use.emit
    with rows.each(emit, stride) as (source, target):
        start = x.place(source, 0)
        with emit.loop(0, count_pairs(emit, columns), x.use.lanes) as column:
            value = _load_pairs(x, start, columns, column.counter)
            emit.vector_store(value, to, [emit.add(target, column.counter)])


def pack_row_pairs(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy keys to panels: for each pair of columns, the pairs of `width` keys.

    Keys past the last are undefined. Up to a vector's number of lines past a panel is written,
    before the next panel is.
    """
    use = x.use
    emit, lanes = use.emit, use.lanes
    lines, last = count_pairs(emit, columns), emit.sub(rows, 1)
    with emit.loop(0, rows, width) as panel:
        base = emit.mul(panel.counter, lines)
        left = emit.min(emit.sub(rows, panel.counter), width)
        with emit.loop(0, left, lanes) as part:
            key = emit.add(panel.counter, part.counter)
            starts = [x.place(emit.min(emit.add(key, i), last), 0) for i in range(lanes)]
            target = emit.add(base, part.counter)
            with emit.loop(0, lines, lanes) as column:
                vectors = [_load_pairs(x, start, columns, column.counter) for start in starts]
                for i, value in enumerate(transpose_tile(emit, vectors)):
                    line = emit.mul(emit.add(column.counter, i), width)
                    emit.vector_store(value, to, [emit.add(target, line)])


def pack_column_pairs(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy values to panels: for each pair of rows, the pairs of `width` columns.

    Columns past the last are zeros.
    """
    use = x.use
    emit, lanes = use.emit, use.lanes
    half = ir.VectorType.get([lanes], x.base.type.element_type)
    whole = isinstance(columns, int) and columns % width == 0
    even = emit.round_down(rows, PAIR)
    with emit.loop(0, columns, width) as panel:
        base = emit.mul(panel.counter, count_pairs(emit, rows))
        starts = range(0, width, lanes)
        left = emit.sub(columns, panel.counter)
        masks = [None if whole else emit.mask(emit.sub(left, at), lanes) for at in starts]

        def line(row: Index, there: Sequence[int]) -> None:
            target = emit.add(base, emit.mul(emit.div(row, PAIR), width))
            for at, mask in zip(starts, masks, strict=True):
                column = emit.add(panel.counter, at)
                pair = [
                    emit.vector_load(x.base, [x.place(emit.add(row, i), column)], half, mask)
                    for i in there
                ]
                other = pair[1] if len(pair) == PAIR else emit.constant(half, 0)
                mixed = emit.shuffle(
                    pair[0], other, [i // PAIR + i % PAIR * lanes for i in range(PAIR * lanes)]
                )
                value = emit.op("vector.bitcast", [mixed], use.vector)
                emit.vector_store(value, to, [emit.add(target, at)])

        with emit.loop(0, even, PAIR) as row:
            line(row.counter, (0, 1))
        if even is not rows:
            with emit.loop(even, rows) as row:
                line(row.counter, (0,))


def _load_pairs(x: Matrix, start: Index, columns: Index, pair: Index) -> ir.Value:
    """Load a vector of pairs of a row; elements past `columns` are zeros."""
    use = x.use
    emit, count = use.emit, PAIR * use.lanes
    column = emit.mul(pair, PAIR)
    mask = None
    if not (isinstance(columns, int) and columns % count == 0):
        mask = emit.mask(emit.sub(columns, column), count)
    type_ = ir.VectorType.get([count], x.base.type.element_type)
    value = emit.vector_load(x.base, [emit.add(start, column)], type_, mask)
    return emit.op("vector.bitcast", [value], use.vector)
