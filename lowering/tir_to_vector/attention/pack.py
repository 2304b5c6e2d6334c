"""Packing of the queries, keys and values of a head."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_vector.attention.tile import Arithmetic
from relax_mlir.lowering.tir_to_vector.emit import Emitter
from relax_mlir.lowering.tir_to_vector.index_emit import Index
from relax_mlir.lowering.tir_to_vector.shuffles import transpose_tile


@dataclass(frozen=True)
class Matrix:
    """One head of an operand.

    Attributes:
        use: the arithmetic of the type that it is widened to.
        base: the flat buffer.
        offset: of its first element.
        row: stride from one query or key to the next.
        column: stride along it.
        widen: the conversion, or None.
    """

    use: Arithmetic
    base: ir.Value
    offset: Index
    row: Index
    column: Index
    widen: str | None

    def place(self, row: Index, column: Index) -> Index:
        """Return the place of an element."""
        emit = self.use.emit
        along = emit.add(emit.mul(row, self.row), emit.mul(column, self.column))
        return emit.add(self.offset, along)

    def load(self, at: Index, mask: ir.Value | None = None) -> ir.Value:
        """Load adjacent elements."""
        type_ = ir.VectorType.get([self.use.lanes], self.base.type.element_type)
        emit = self.use.emit
        value = emit.vector_load(self.base, [at], type_, mask)
        return value if self.widen is None else emit.op(self.widen, [value], self.use.vector)

    def one(self, at: Index) -> ir.Value:
        """Load one element."""
        emit, value = self.use.emit, self.use.emit.load(self.base, [at])
        return value if self.widen is None else emit.op(self.widen, [value], self.element)

    @property
    def element(self) -> ir.Type:
        """The type that it is widened to."""
        return self.use.vector.element_type


@dataclass(frozen=True)
class Rows:
    """A range of rows to copy.

    Attributes:
        first: the first row.
        count: the number of rows.
        last: the last row that exists, which is copied for those past it; None if all exist.
    """

    first: Index
    count: Index
    last: Index | None

    @contextmanager
    def each(self, emit: Emitter, stride: Index) -> Iterator[tuple[Index, Index]]:
        """Write a loop over them; yields the row, and its target at that stride."""
        with emit.loop(0, self.count) as row:
            source = emit.add(self.first, row.counter)
            source = source if self.last is None else emit.min(source, self.last)
            yield source, emit.mul(row.counter, stride)


def copy_rows(
    x: Matrix, rows: Rows, columns: Index, to: ir.Value, stride: Index, factor: ir.Value
) -> None:
    """Copy rows times a factor; up to a vector past each is written.

    Args:
        x: the operand.
        rows: the range of rows.
        columns: elements of each.
        to: the target.
        stride: from one row to the next in the target.
        factor: a vector.
    """
    use = x.use
    emit = use.emit
    with rows.each(emit, stride) as (source, target):
        if x.column == 1:
            start = x.place(source, 0)

            def write(at: Index, mask: ir.Value | None) -> None:
                value = x.load(emit.add(start, at), mask)
                value = emit.op("arith.mulf", [value, factor], use.vector)
                emit.vector_store(value, to, [emit.add(target, at)])

            use.each_vector(columns, write)
        else:
            scale = emit.extract(factor, 0)
            with emit.loop(0, columns) as column:
                value = x.one(x.place(source, column.counter))
                value = emit.op("arith.mulf", [value, scale], x.element)
                emit.store(value, to, [emit.add(target, column.counter)])


def pack_columns(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy values to panels: for each row, `width` columns.

    Columns past the last are finite if the last one is.
    """
    use = x.use
    emit = use.emit
    if x.column != 1:
        _pack_strided(x, rows, columns, to, width)
        return
    whole = isinstance(columns, int) and columns % width == 0
    with emit.loop(0, columns, width) as panel:
        base = emit.mul(panel.counter, rows)
        starts = range(0, width, use.lanes)
        left = emit.sub(columns, panel.counter)
        with emit.loop(0, rows) as row:
            target = emit.add(base, emit.mul(row.counter, width))
            for start in starts:
                at = x.place(row.counter, emit.add(panel.counter, start))
                mask = None if whole else emit.mask(emit.sub(left, start), use.lanes)
                emit.vector_store(x.load(at, mask), to, [emit.add(target, start)])


def _pack_strided(x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int) -> None:
    """Copy strided values one by one."""
    emit = x.use.emit
    last = emit.sub(columns, 1)
    with emit.loop(0, columns, width) as panel:
        base = emit.mul(panel.counter, rows)
        with emit.loop(0, rows) as row, emit.loop(0, width) as part:
            column = emit.min(emit.add(panel.counter, part.counter), last)
            line = emit.add(base, emit.mul(row.counter, width))
            value = x.one(x.place(row.counter, column))
            emit.store(value, to, [emit.add(line, part.counter)])


def pack_rows(
    x: Matrix, rows: Index, columns: Index, to: ir.Value, width: int, factor: ir.Value | None
) -> None:
    """Copy keys to panels, times a factor: for each column, `width` keys.

    Keys past the last are undefined. Up to a vector's number of lines past a panel is written,
    before the next panel is.
    """
    emit = x.use.emit
    with emit.loop(0, rows, width) as panel:
        base = emit.mul(panel.counter, columns)
        if x.column == 1:
            _transposed(x, panel.counter, rows, columns, (to, base), width, factor)
        elif x.row == 1:
            left = emit.sub(rows, panel.counter)
            with emit.loop(0, columns) as column:
                target = emit.add(base, emit.mul(column.counter, width))
                for start in range(0, width, x.use.lanes):
                    at = x.place(emit.add(panel.counter, start), column.counter)
                    value = x.load(at, emit.mask(emit.sub(left, start), x.use.lanes))
                    value = _times(x.use, value, factor)
                    emit.vector_store(value, to, [emit.add(target, start)])
        else:
            last = emit.sub(rows, 1)
            with emit.loop(0, width) as part, emit.loop(0, columns) as column:
                key = emit.min(emit.add(panel.counter, part.counter), last)
                line = emit.add(base, emit.mul(column.counter, width))
                value = x.one(x.place(key, column.counter))
                if factor is not None:
                    scale = emit.extract(factor, 0)
                    value = emit.op("arith.mulf", [value, scale], x.element)
                emit.store(value, to, [emit.add(line, part.counter)])


def _times(use: Arithmetic, value: ir.Value, factor: ir.Value | None) -> ir.Value:
    return value if factor is None else use.emit.op("arith.mulf", [value, factor], use.vector)


def _transposed(
    x: Matrix, first: Index, rows: Index, columns: Index, to: tuple[ir.Value, Index], width: int,
    factor: ir.Value | None,
) -> None:  # fmt: skip
    """Copy a panel of keys by register transposes."""
    use = x.use
    emit, lanes = use.emit, use.lanes
    last = emit.sub(rows, 1)
    with emit.loop(0, emit.min(width, emit.sub(rows, first)), lanes) as part:
        # Keys past the last one repeat it.
        keys = [emit.min(emit.add(emit.add(first, part.counter), i), last) for i in range(lanes)]
        starts = [x.place(key, 0) for key in keys]
        target = emit.add(to[1], part.counter)
        with emit.loop(0, columns, lanes) as column:
            mask = use.tail(columns, column.counter)
            loaded = [x.load(emit.add(start, column.counter), mask) for start in starts]
            vectors = [_times(use, value, factor) for value in loaded]
            for i, value in enumerate(transpose_tile(emit, vectors)):
                line = emit.mul(emit.add(column.counter, i), width)
                emit.vector_store(value, to[0], [emit.add(target, line)])
